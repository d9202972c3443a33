/** An item of a list. The key finds the item again in another generation. */
export interface Entry {
  /** Id in the open generation; null if that generation lacks the item. */
  id: number | null;
  /** SMILES, or the first name of an item without one; null if it is not known. */
  key: string | null;
}

/** Items that the user collected under a name, in that order. */
export interface NamedList {
  name: string;
  note: string;
  entries: readonly Entry[];
}

/** All lists of a collection. The ids belong to one generation. */
export interface StoredLists {
  generation: string | null;
  lists: readonly NamedList[];
  /** Index of the current list, to which items are added. */
  current: number;
}

/** Name of the list that exists from the start. */
export const FIRST_NAME = "Selection";

const NO_LISTS: StoredLists = { generation: null, lists: [{ name: FIRST_NAME, note: "", entries: [] }], current: 0 };

/** Format lists for the browser's storage. Ids and keys are parallel arrays, which take less space than objects. */
export function formatLists({ generation, lists, current }: StoredLists): string {
  const compactLists = lists.map(({ name, note, entries }) => ({ name, note, ids: entries.map(({ id }) => id), keys: entries.map(({ key }) => key) }));
  return JSON.stringify({ generation, current, lists: compactLists });
}

/**
 * Parse lists from the browser's storage. Without any, there is one empty list.
 *
 * @param basket - the single list that earlier versions of the page stored, without keys.
 */
export function parseLists(text: string | null, basket: string | null = null): StoredLists {
  const stored = parseJson(text) as { generation: string; current: number; lists: unknown[] } | null;
  const lists = Array.isArray(stored?.lists) ? stored.lists.flatMap(parseList) : [];
  if (lists.length) return { generation: String(stored!.generation), lists, current: lists[stored!.current] ? stored!.current : 0 };
  const old = parseJson(basket) as { generation: string; ids: unknown } | null;
  if (!Array.isArray(old?.ids)) return NO_LISTS;
  const entries = old.ids.filter(isId).map((id) => ({ id, key: null }));
  return { generation: String(old.generation), lists: [{ name: FIRST_NAME, note: "", entries }], current: 0 };
}

function parseList(value: unknown): NamedList[] {
  const { name, note, ids, keys } = (value ?? {}) as Record<string, unknown>;
  if (typeof name !== "string" || !Array.isArray(ids) || !Array.isArray(keys)) return [];
  const entries = ids.map((id: unknown, index): Entry => ({ id: isId(id) ? id : null, key: typeof keys[index] === "string" ? keys[index] : null }));
  return [{ name, note: typeof note === "string" ? note : "", entries: entries.filter(({ id, key }) => id !== null || key !== null) }];
}

function isId(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function parseJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}
