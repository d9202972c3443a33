import type { Client } from "../api/client";
import type { Item, SearchRow } from "../api/replies";
import { shortenRdkitError, looksLikeName } from "../find/interpretation";
import type { Entry, Identifier } from "./entries";

/** Largest number of entries of a list, as in the API. */
export const MAX_ENTRIES = 10_000;
const MAX_BODY_LENGTH = 1_500_000; // characters of one request body

/** Result of looking up one entry of a list. */
export interface LookupResult {
  entry: Entry;
  /**
   * `found`: the entry is an item. `missing`: it is a structure that the collection does not contain. `unnamed`:
   * it is a name that no item has. `unread`: it is neither. These words are also the values of the page's filter.
   */
  outcome: "found" | "missing" | "unnamed" | "unread";
  /** The item, or the most similar one; null if there is nothing to compare. */
  item: Item | null;
  /** Similarity to the most similar item; null for other outcomes. */
  similarity: number | null;
  /** Why the entry is unreadable; null for other outcomes. */
  reason: string | null;
}

/** Look up all entries, in batches that fit into one request body each. */
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

/** An entry that looks like a name is an unknown name. Otherwise its structure is unreadable. */
function classifyError({ text, identifiers }: Entry, error: string): Pick<LookupResult, "outcome" | "reason"> {
  const hasName = identifiers.some((identifier) => "name" in identifier);
  const hasStructure = identifiers.some((identifier) => !("name" in identifier));
  if (hasName && (!hasStructure || looksLikeName(text))) return { outcome: "unnamed", reason: null };
  return { outcome: "unread", reason: hasName ? `${shortenError(error)}, and no item has this name` : shortenError(error) };
}

/** Shorten an error message and drop the quotation of the input. */
function shortenError(error: string): string {
  return shortenRdkitError(error.replace(/ \(given .*$/s, ""));
}

async function searchIdentifiers(client: Client, identifiers: Identifier[], signal: AbortSignal): Promise<SearchRow[]> {
  const rows: SearchRow[] = [];
  for (const batch of batches(identifiers)) rows.push(...(await client.searchBatch(batch, signal)));
  return rows;
}

/** Divide identifiers into batches that fit into one request body each. */
export function* batches(identifiers: Identifier[]): Generator<Identifier[]> {
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
