import type { Client } from "../api/client";
import type { Item, SearchRow } from "../api/replies";
import { shortenRdkitError, looksLikeName } from "../find/interpretation";
import type { Entry, Identifier } from "./entries";

export const MAX_ENTRIES = 10_000; // structures at once, as in the API
const MAX_BODY_LENGTH = 1_500_000; // characters of one request

/** What became of one entry of a list. */
export interface LookupResult {
  entry: Entry;
  /**
   * `found`: it is an item; `missing`: it is a structure, but no item; `unknownName`: it is a name that no item has;
   * `unreadable`: it is neither.
   */
  outcome: "found" | "missing" | "unknownName" | "unreadable";
  /** The item that it is, else the most similar one; null where nothing is compared. */
  item: Item | null;
  /** To that; null where it is a name's. */
  similarity: number | null;
  /** Why it could not be read. */
  reason: string | null;
}

/** Looks all of them up, as far as the API reads them at once. */
export async function lookUpEntries(client: Client, entries: Entry[], signal: AbortSignal): Promise<LookupResult[]> {
  const rows = await searchIdentifiers(client, entries.map(({ identifiers }) => identifiers[0]!), signal);
  const retryIndices = entries.flatMap(({ identifiers }, entryIndex) => (rows[entryIndex]!.error !== null && identifiers[1] ? [entryIndex] : []));
  const retryRows = await searchIdentifiers(client, retryIndices.map((entryIndex) => entries[entryIndex]!.identifiers[1]!), signal);
  const finalRows = rows.map((row): SearchRow => row);
  retryIndices.forEach((entryIndex, index) => {
    if (retryRows[index]!.error === null) finalRows[entryIndex] = retryRows[index]!;
  });
  const ids = new Set(finalRows.flatMap(({ id, hits }) => id ?? hits[0]?.id ?? []));
  const items = new Map((await client.itemsByIds([...ids], signal)).map((item) => [item.id, item]));
  return entries.map((entry, entryIndex) => toResult(entry, finalRows[entryIndex]!, items));
}

function toResult(entry: Entry, { id, error, hits }: SearchRow, items: Map<number, Item>): LookupResult {
  if (id !== null) return { entry, outcome: "found", item: items.get(id) ?? null, similarity: null, reason: null };
  if (error !== null) return { entry, ...classifyError(entry, error), item: null, similarity: null };
  const [nearest] = hits;
  const item = nearest ? (items.get(nearest.id) ?? null) : null;
  return { entry, outcome: "missing", item, similarity: nearest?.similarity ?? null, reason: null };
}

/** A word that is no structure is a name. Else the structure is at fault. */
function classifyError({ text, identifiers }: Entry, error: string): Pick<LookupResult, "outcome" | "reason"> {
  const hasName = identifiers.some((identifier) => "name" in identifier);
  const hasStructure = identifiers.some((identifier) => !("name" in identifier));
  if (hasName && (!hasStructure || looksLikeName(text))) return { outcome: "unknownName", reason: null };
  return { outcome: "unreadable", reason: hasName ? `${shortenError(error)}, and no item has this name` : shortenError(error) };
}

/** The gist of an error, which says at length what was given. */
function shortenError(error: string): string {
  return shortenRdkitError(error.replace(/ \(given .*$/s, ""));
}

async function searchIdentifiers(client: Client, identifiers: Identifier[], signal: AbortSignal): Promise<SearchRow[]> {
  const rows: SearchRow[] = [];
  for (const batch of batches(identifiers)) rows.push(...(await client.searchBatch(batch, signal)));
  return rows;
}

function* batches(identifiers: Identifier[]): Generator<Identifier[]> {
  let [batch, size]: [Identifier[], number] = [[], 0];
  for (const identifier of identifiers) {
    const length = JSON.stringify(identifier).length;
    if (batch.length && size + length > MAX_BODY_LENGTH) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push(identifier);
    size += length + 1;
  }
  if (batch.length) yield batch;
}
