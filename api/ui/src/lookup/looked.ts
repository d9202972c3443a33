import type { Client } from "../api/client";
import type { Item, SearchRow } from "../api/replies";
import { gist, wordlike } from "../find/reading";
import type { Entry, Way } from "./entries";

export const MOST = 10_000; // structures at once, as in the API
const BODY = 1_500_000; // characters of one request

/** What became of one entry of a list. */
export interface Looked {
  entry: Entry;
  /**
   * `found`: it is an item; `missing`: it is a structure, but no item; `unnamed`: it is a name that no item has;
   * `unread`: it is neither.
   */
  outcome: "found" | "missing" | "unnamed" | "unread";
  /** The item that it is, else the most similar one; null where nothing is compared. */
  item: Item | null;
  /** To that; null where it is a name's. */
  similarity: number | null;
  /** Why it could not be read. */
  reason: string | null;
}

/** Looks all of them up, as far as the API reads them at once. */
export async function look(client: Client, entries: Entry[], signal: AbortSignal): Promise<Looked[]> {
  const rows = await search(client, entries.map(({ ways }) => ways[0]!), signal);
  const again = entries.flatMap(({ ways }, place) => (rows[place]!.error !== null && ways[1] ? [place] : []));
  const others = await search(client, again.map((place) => entries[place]!.ways[1]!), signal);
  const settled = rows.map((row): SearchRow => row);
  again.forEach((place, index) => {
    if (others[index]!.error === null) settled[place] = others[index]!;
  });
  const ids = new Set(settled.flatMap(({ id, hits }) => id ?? hits[0]?.id ?? []));
  const items = new Map((await client.itemsOf([...ids], signal)).map((item) => [item.id, item]));
  return entries.map((entry, place) => looked(entry, settled[place]!, items));
}

function looked(entry: Entry, { id, error, hits }: SearchRow, items: Map<number, Item>): Looked {
  if (id !== null) return { entry, outcome: "found", item: items.get(id) ?? null, similarity: null, reason: null };
  if (error !== null) return { entry, ...refused(entry, error), item: null, similarity: null };
  const [nearest] = hits;
  const item = nearest ? (items.get(nearest.id) ?? null) : null;
  return { entry, outcome: "missing", item, similarity: nearest?.similarity ?? null, reason: null };
}

/** A word that is no structure is a name. Else the structure is at fault. */
function refused({ given, ways }: Entry, error: string): Pick<Looked, "outcome" | "reason"> {
  const named = ways.some((way) => "name" in way);
  const written = ways.some((way) => !("name" in way));
  if (named && (!written || wordlike(given))) return { outcome: "unnamed", reason: null };
  return { outcome: "unread", reason: named ? `${said(error)}, and no item has this name` : said(error) };
}

/** The gist of an error, which says at length what was given. */
function said(error: string): string {
  return gist(error.replace(/ \(given .*$/s, ""));
}

async function search(client: Client, ways: Way[], signal: AbortSignal): Promise<SearchRow[]> {
  const rows: SearchRow[] = [];
  for (const part of parts(ways)) rows.push(...(await client.searchBatch(part, signal)));
  return rows;
}

function* parts(ways: Way[]): Generator<Way[]> {
  let [part, size]: [Way[], number] = [[], 0];
  for (const way of ways) {
    const own = JSON.stringify(way).length;
    if (part.length && size + own > BODY) {
      yield part;
      [part, size] = [[], 0];
    }
    part.push(way);
    size += own + 1;
  }
  if (part.length) yield part;
}
