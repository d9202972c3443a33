import type { Client } from "../api/client";

export const MOST = 3;
const SHORTEST = 3; // characters that suggestions begin with alike
const CANDIDATES = 50;

/** Names of items that begin as a text does, or at least as its first half or quarter does; the closest first. */
export async function suggestions(client: Pick<Client, "query">, text: string, signal: AbortSignal): Promise<string[]> {
  const given = text.trim();
  for (let length = given.length; length >= SHORTEST; length = Math.floor(length / 2)) {
    const beginning = given.slice(0, length).toLowerCase();
    const { items } = await client.query({ name: beginning, limit: CANDIDATES, columns: [] }, signal);
    const names = new Set(items.flatMap(({ names }) => names.filter((name) => name.toLowerCase().startsWith(beginning))));
    if (names.size) return [...names].sort((one, other) => distance(one, given) - distance(other, given)).slice(0, MOST);
  }
  return [];
}

/** The fewest characters to insert, leave out or replace that make one text of another, in any case. */
function distance(one: string, other: string): number {
  const [from, to] = [one.toLowerCase(), other.toLowerCase()];
  let row = Array.from({ length: to.length + 1 }, (_, place) => place);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
