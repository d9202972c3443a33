import type { Client } from "../api/client";

export const MAX_SUGGESTIONS = 3;
const MIN_PREFIX_LENGTH = 3; // characters that suggestions begin with alike
const CANDIDATE_LIMIT = 50;

/** Names of items that begin as a text does, or at least as its first half or quarter does; the closest first. */
export async function suggestNames(client: Pick<Client, "query">, text: string, signal: AbortSignal): Promise<string[]> {
  const trimmed = text.trim();
  for (let length = trimmed.length; length >= MIN_PREFIX_LENGTH; length = Math.floor(length / 2)) {
    const prefix = trimmed.slice(0, length).toLowerCase();
    const { items } = await client.query({ name: prefix, limit: CANDIDATE_LIMIT, columns: [] }, signal);
    const names = new Set(items.flatMap(({ names }) => names.filter((name) => name.toLowerCase().startsWith(prefix))));
    if (names.size) return [...names].sort((a, b) => distance(a, trimmed) - distance(b, trimmed)).slice(0, MAX_SUGGESTIONS);
  }
  return [];
}

/** The fewest characters to insert, leave out or replace that make one text of another, in any case. */
function distance(a: string, b: string): number {
  const [from, to] = [a.toLowerCase(), b.toLowerCase()];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const substitution = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
