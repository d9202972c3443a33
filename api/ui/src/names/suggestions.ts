import type { Client } from "../api/client";

/** Largest number of suggestions. */
export const MAX_SUGGESTIONS = 3;
const MIN_PREFIX_LENGTH = 3; // characters that a name must share with the text at its start
const CANDIDATE_LIMIT = 50;

/** Suggest names that start with a text, or with its first half or quarter, sorted by edit distance. */
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

/** Return the Levenshtein distance of two texts, ignoring case. */
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
