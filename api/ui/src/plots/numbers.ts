import { tableFromIPC } from "@uwdata/flechette";
import type { Client } from "../api/client";
import type { ItemRequest } from "../results/results";

/** Numeric columns of items, in the same order as the ids. */
export interface Numbers {
  ids: Int32Array;
  /** Values by column name; NaN for an item without a value. */
  columns: ReadonlyMap<string, Float64Array>;
}

/** Pairs of neighbors, each with their similarity. */
export interface Pairs {
  a: Int32Array;
  b: Int32Array;
  similarity: Float64Array;
}

/** Load numeric columns of all items that match a request. */
export async function loadNumbers(client: Client, request: ItemRequest, names: string[], signal: AbortSignal): Promise<Numbers> {
  const columns = [...new Set(names)];
  return readNumbers(await client.arrow("/values", {}, { ...request, columns }, signal), columns);
}

/** Read the reply of `POST values` in Arrow. */
export function readNumbers(reply: ArrayBuffer, names: string[]): Numbers {
  const table = tableFromIPC(new Uint8Array(reply));
  return { ids: integers(table, 0), columns: new Map(names.map((name, index) => [name, numbers(table, index + 1)])) };
}

/** Load all pairs of neighbors with at least this similarity. */
export async function loadPairs(client: Client, minSimilarity: number, signal: AbortSignal): Promise<Pairs> {
  const parameters = { what: "edges", format: "arrow", min_similarity: minSimilarity };
  const table = tableFromIPC(new Uint8Array(await client.arrow("/export", parameters, null, signal)));
  return { a: integers(table, 0), b: integers(table, 1), similarity: numbers(table, 2) };
}

type Table = ReturnType<typeof tableFromIPC>;

function integers(table: Table, column: number): Int32Array {
  return Int32Array.from(table.getChildAt(column).toArray() as ArrayLike<number>);
}

function numbers(table: Table, column: number): Float64Array {
  return Float64Array.from(table.getChildAt(column).toArray() as ArrayLike<number | null>, (value) => value ?? NaN);
}

/**
 * Return the least similarity at which a histogram of similarities counts at most `maxCount` pairs; null if it counts no
 * more than that in total.
 */
export function similarityWithAtMost({ edges, counts }: { edges: number[]; counts: number[] }, maxCount: number): number | null {
  let total = 0;
  for (let bin = counts.length - 1; bin >= 0; bin--) {
    total += counts[bin]!;
    if (total > maxCount) return edges[bin + 1]!;
  }
  return null;
}
