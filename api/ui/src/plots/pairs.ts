import type { Pairs } from "./numbers";
import type { ScaleType } from "./scaleType";

/** Pairs of items that both have a value, with the difference of their values. */
export interface PairDifferences extends Pairs {
  /** Absolute difference, of logarithms of ten on a logarithmic scale. */
  difference: Float64Array;
  /** Returns the index of an item among the values. */
  indexOf: (id: number) => number;
}

/** Return the pairs of which both items are among `ids` and have a value. */
export function differencesOf({ a, b, similarity }: Pairs, ids: Int32Array, values: Float64Array, type: ScaleType): PairDifferences {
  const positions = type === "log" ? values.map(Math.log10) : values;
  const indexOfId = new Map(Array.from(ids, (id, index) => [id, index] as const));
  const kept: number[] = [];
  const differences: number[] = [];
  for (let pair = 0; pair < a.length; pair++) {
    const [first, second] = [indexOfId.get(a[pair]!), indexOfId.get(b[pair]!)];
    if (first === undefined || second === undefined) continue;
    const difference = Math.abs(positions[first]! - positions[second]!);
    if (!Number.isFinite(difference)) continue;
    kept.push(pair);
    differences.push(difference);
  }
  return {
    a: Int32Array.from(kept, (pair) => a[pair]!),
    b: Int32Array.from(kept, (pair) => b[pair]!),
    similarity: Float64Array.from(kept, (pair) => similarity[pair]!),
    difference: Float64Array.from(differences),
    indexOf: (id) => indexOfId.get(id) ?? -1,
  };
}
