import type { Entry, NamedList } from "./storage";

/** Set operations on two lists, each with the word that joins their names. */
export const OPERATIONS = { union: "or", intersection: "and", difference: "without" } as const;
export type Operation = keyof typeof OPERATIONS;

/** Return the entries of a set operation, in the order of the lists, each item once. */
export function combine(first: readonly Entry[], second: readonly Entry[], operation: Operation): Entry[] {
  const inSecond = new Set(second.map(identity));
  const all = operation === "union" ? [...first, ...second] : first.filter((entry) => inSecond.has(identity(entry)) === (operation === "intersection"));
  return withoutRepeats(all);
}

/** Drop repeated items, except the first occurrence of each. A key that only a later occurrence has is kept. */
export function withoutRepeats(entries: readonly Entry[]): Entry[] {
  const entryOf = new Map<string, Entry>();
  for (const entry of entries) {
    const known = entryOf.get(identity(entry));
    if (known === undefined || known.key === null) entryOf.set(identity(entry), known === undefined ? entry : { ...known, key: entry.key });
  }
  return [...entryOf.values()];
}

/** Return the name, or the name with the first number that makes it unique. */
export function uniqueName(name: string, lists: readonly NamedList[]): string {
  const names = new Set(lists.map((list) => list.name));
  let unique = name;
  for (let number = 2; names.has(unique); number++) unique = `${name} ${number}`;
  return unique;
}

/** Return a text that identifies the item of an entry: its id, or its key if the generation lacks the item. */
function identity({ id, key }: Entry): string {
  return id === null ? `key ${key}` : `id ${id}`;
}
