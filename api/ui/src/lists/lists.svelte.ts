import { Client } from "../api/client";
import type { CollectionDetail, Item } from "../api/replies";
import { combine, type Operation, OPERATIONS, uniqueName, withoutRepeats } from "./combine";
import { findByKey, keyOf, loadKeys } from "./resolve";
import { type Entry, FIRST_NAME, formatLists, type NamedList, parseLists, type StoredLists } from "./storage";

/** Largest number of items in a list: as many ids as one API request accepts. */
export const MAX_ITEMS = 10_000;

/**
 * Named lists of items of the open collection. One list is the current one, to which items are added.
 *
 * The browser stores the lists, with the SMILES or the name of each item. In another generation, the items are found
 * again by these. An item that a generation lacks stays in its list without an id.
 */
class Lists {
  all: readonly NamedList[] = $state.raw(parseLists(null).lists);
  /** Index of the current list. */
  index = $state(0);
  /** Message if the last change was refused or is not stored; null otherwise. */
  refusal: string | null = $state(null);
  /** Whether the items are being found again in the open generation. */
  isFinding = $state(false);
  /** Message if the items could not be found again; null otherwise. */
  failure: string | null = $state(null);
  /** Number of items that cannot be found again, because their generation is no longer stored. */
  forgottenCount = $state(0);

  readonly current: NamedList = $derived(this.all[this.index] ?? this.all[0]!);
  /** Ids of the items of the current list that the open generation has. */
  readonly ids: readonly number[] = $derived(idsOf(this.current));
  private readonly idSet = $derived(new Set(this.ids));

  private client: Client | null = null;
  private detail: CollectionDetail | null = null;
  private controller = new AbortController(); // Opening another generation aborts the requests for the previous one.

  constructor() {
    addEventListener("storage", ({ key }) => {
      // Another tab has changed the lists. It may show another generation, and would answer each save with its own.
      if (key !== null && key === this.storageKey && this.client && this.detail) this.open(this.client, this.detail, false);
    });
  }

  /** The open generation, to which the ids belong; null until a collection is open. */
  get generation(): string | null {
    return this.client?.generation ?? null;
  }

  private get storageKey(): string | null {
    return this.client && `graphkin.lists.${this.client.collection}`;
  }

  /**
   * Restore the lists of a collection from the browser's storage, and find their items in the open generation.
   *
   * @param saves - whether the items that are found are stored at once, or only with the next change.
   */
  open(client: Client, detail: CollectionDetail, saves = true): void {
    [this.client, this.detail] = [client, detail];
    this.controller.abort();
    this.controller = new AbortController();
    const stored = this.read();
    this.refusal = this.failure = null;
    this.forgottenCount = 0;
    this.index = stored.current;
    this.isFinding = false;
    if (stored.generation === client.generation || stored.lists.every(({ entries }) => entries.length === 0)) {
      this.all = stored.lists;
      if (saves) void this.addKeys();
      return;
    }
    this.all = stored.lists.map((list) => ({ ...list, entries: list.entries.map(({ key }) => ({ id: null, key })) }));
    void this.find(stored, saves);
  }

  /** Read the lists again, for example after a failure. */
  reopen(): void {
    if (this.client && this.detail) this.open(this.client, this.detail);
  }

  has(id: number): boolean {
    return this.idSet.has(id);
  }

  toggle(item: Item): void {
    if (this.has(item.id)) this.remove([item.id]);
    else this.addEntries([{ id: item.id, key: keyOf(item) }]);
  }

  /** Add items to the current list, or none of them if the list would become too large. */
  add(ids: readonly number[]): void {
    this.addEntries(ids.map((id) => ({ id, key: null })));
  }

  remove(ids: readonly number[]): void {
    const removedIds = new Set<number | null>(ids);
    this.changeCurrent({ entries: this.current.entries.filter(({ id }) => !removedIds.has(id)) });
  }

  /** Remove the items that the open generation lacks from the current list. */
  removeMissing(): void {
    this.changeCurrent({ entries: this.current.entries.filter(({ id }) => id !== null) });
  }

  clear(): void {
    this.changeCurrent({ entries: [] });
  }

  choose(index: number): void {
    if (this.isLocked()) return;
    this.index = index;
    this.save(this.all);
  }

  /** Create a list of items, which becomes the current one. */
  create(name: string, ids: readonly number[]): void {
    this.append(name, ids.map((id) => ({ id, key: null })));
  }

  /** Create a list from the current list and another one. */
  combine(other: NamedList, operation: Operation): void {
    const { name, entries } = this.current;
    this.append(`${name} ${OPERATIONS[operation]} ${other.name}`, combine(entries, other.entries, operation));
  }

  rename(name: string): void {
    const others = this.all.filter((list) => list !== this.current);
    if (name.trim()) this.changeCurrent({ name: uniqueName(name.trim(), others) });
  }

  annotate(note: string): void {
    this.changeCurrent({ note });
  }

  /** Delete the current list. If it is the only one, an empty list takes its place. */
  delete(): void {
    if (this.isLocked()) return;
    const others = this.all.filter((list) => list !== this.current);
    this.index = Math.max(0, Math.min(this.index, others.length - 1));
    this.save(others.length ? others : [{ name: FIRST_NAME, note: "", entries: [] }]);
  }

  private append(name: string, entries: readonly Entry[]): void {
    if (this.isLocked() || this.refuses(entries.length)) return;
    this.index = this.all.length;
    this.save([...this.all, { name: uniqueName(name.trim() || FIRST_NAME, this.all), note: "", entries }]);
    void this.addKeys();
  }

  private addEntries(entries: readonly Entry[]): void {
    const allEntries = withoutRepeats([...this.current.entries, ...entries]);
    if (this.isLocked() || this.refuses(allEntries.length)) return;
    this.changeCurrent({ entries: allEntries });
    void this.addKeys();
  }

  /** Whether the lists cannot be changed yet. The refusal says so. */
  private isLocked(): boolean {
    const isLocked = this.isFinding || this.failure !== null;
    this.refusal = isLocked ? "The items of your lists are being found again in this generation. Change the lists when that is done." : null;
    return isLocked;
  }

  /** Whether a list of this size is too large. The refusal says so. */
  private refuses(size: number): boolean {
    const format = (number: number) => number.toLocaleString("en");
    this.refusal = size > MAX_ITEMS ? `A list holds at most ${format(MAX_ITEMS)} items. With this addition it would hold ${format(size)}.` : null;
    return this.refusal !== null;
  }

  private changeCurrent(change: Partial<NamedList>): void {
    if (this.isLocked()) return;
    const current = this.current;
    this.save(this.all.map((list) => (list === current ? { ...list, ...change } : list)));
  }

  private read(): StoredLists {
    try {
      return parseLists(localStorage.getItem(this.storageKey!), localStorage.getItem(`graphkin.basket.${this.client!.collection}`));
    } catch {
      return parseLists(null); // The browser refuses access to its storage.
    }
  }

  private save(all: readonly NamedList[]): void {
    this.all = all;
    try {
      localStorage.setItem(this.storageKey!, formatLists({ generation: this.client!.generation, lists: all, current: this.index }));
    } catch {
      this.refusal = "The browser did not store this change, because its storage is full or blocked. Delete a list, or download this one.";
    }
  }

  /** Load the keys of items that were added by their ids alone. */
  private async addKeys(): Promise<void> {
    const { signal } = this.controller;
    const ids = new Set(this.all.flatMap(({ entries }) => entries.flatMap(({ id, key }) => (key === null && id !== null ? id : []))));
    if (ids.size === 0) return;
    const keys = await loadKeys(this.client!, [...ids], signal).catch(() => null); // The next change tries again.
    if (keys === null || signal.aborted) return;
    this.save(this.all.map((list) => ({ ...list, entries: list.entries.map(({ id, key }) => ({ id, key: key ?? keys.get(id ?? -1) ?? null })) })));
  }

  /** Find the items of stored lists in the open generation. */
  private async find({ generation, lists }: StoredLists, saves: boolean): Promise<void> {
    const [client, detail, { signal }] = [this.client!, this.detail!, this.controller];
    this.isFinding = true;
    try {
      const entries = await withKeys(client, generation, lists.flatMap((list) => list.entries), signal);
      const idOf = await findByKey(client, detail.kind, detail.manifest.counts.kept, entries, signal);
      signal.throwIfAborted();
      this.forgottenCount = entries.filter(({ key }) => key === null).length;
      this.isFinding = false;
      let position = 0;
      this.all = lists.map((list) => ({ ...list, entries: foundEntries(list.entries.map(() => entries[position++]!), idOf) }));
      if (saves) this.save(this.all);
    } catch (error) {
      if (signal.aborted) return;
      this.isFinding = false;
      this.failure = error instanceof Error ? error.message : String(error);
    }
  }
}

/** Return entries with the keys that only their own generation knows. A key stays null if that is no longer stored. */
async function withKeys(client: Client, generation: string | null, entries: readonly Entry[], signal: AbortSignal): Promise<Entry[]> {
  const ids = [...new Set(entries.flatMap(({ id, key }) => (key === null && id !== null ? id : [])))];
  const keys = await loadKeys(new Client(client.collection, generation), ids, signal).catch(() => new Map<number, string>());
  return entries.map(({ id, key }) => ({ id, key: key ?? keys.get(id ?? -1) ?? null }));
}

function foundEntries(entries: readonly Entry[], idOf: ReadonlyMap<string, number>): Entry[] {
  return withoutRepeats(entries.flatMap(({ key }) => (key === null ? [] : [{ id: idOf.get(key) ?? null, key }])));
}

/** Return the ids of the items of a list that the open generation has. */
export function idsOf({ entries }: NamedList): number[] {
  return entries.flatMap(({ id }) => id ?? []);
}

/** The lists of the open collection. */
export const lists = new Lists();
