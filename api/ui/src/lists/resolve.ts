import type { Client } from "../api/client";
import { retryWhileBusy } from "../busyRetry";
import type { Item, Kind } from "../api/replies";
import type { Identifier } from "../lookup/entries";
import { batches } from "../lookup/lookup";
import type { Entry } from "./storage";

const PAGE_SIZE = 1000; // as many items as the API returns at once

/** Return the key of an item in a list: its SMILES, else its first name; null if it has neither. */
export function keyOf(item: Item): string | null {
  return item.smiles ?? item.names.find((name) => name.trim()) ?? null;
}

/** Load the keys of items by their ids. */
export async function loadKeys(client: Client, ids: readonly number[], signal: AbortSignal): Promise<Map<number, string | null>> {
  const keys = new Map<number, string | null>();
  for (let start = 0; start < ids.length; start += PAGE_SIZE) {
    const request = { ids: ids.slice(start, start + PAGE_SIZE), columns: [], limit: PAGE_SIZE };
    const page = await retryWhileBusy(() => client.query(request, signal), signal);
    page.items.forEach((item) => keys.set(item.id, keyOf(item)));
  }
  return keys;
}

/**
 * Find the items of entries in the generation of a client, by their keys. The ids of the entries belong to another
 * generation. Generations often give an item the same id, so items with these ids are compared first.
 *
 * @param size - number of items of the generation.
 * @returns the id of each key that the generation has.
 */
export async function findByKey(client: Client, kind: Kind, size: number, entries: readonly Entry[], signal: AbortSignal): Promise<Map<string, number>> {
  const ids = [...new Set(entries.flatMap(({ id }) => (id !== null && id < size ? id : [])))];
  const keys = await loadKeys(client, ids, signal);
  const idOf = new Map<string, number>();
  for (const { id, key } of entries) if (id !== null && key !== null && keys.get(id) === key) idOf.set(key, id);
  const otherKeys = [...new Set(entries.flatMap(({ key }) => (key !== null && !idOf.has(key) ? key : [])))];
  const identifiers = otherKeys.map((key): Identifier => (kind === "molecule" ? { smiles: key } : { name: key }));
  let position = 0;
  for (const batch of batches(identifiers)) {
    // With this threshold, the search for similar items that comes with the look-up is short.
    const rows = await retryWhileBusy(() => client.searchBatch(batch, signal, 1), signal);
    for (const { id } of rows) {
      const key = otherKeys[position++]!;
      if (id !== null) idOf.set(key, id);
    }
  }
  return idOf;
}
