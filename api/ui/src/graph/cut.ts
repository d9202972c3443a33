import type { Edges } from "./neighbourhood";

/** What hangs together at a threshold. */
export interface Cut {
  /** How many edges hold: the first so many. */
  edges: number;
  /** The component of each place; -1 where no edge holds. */
  component: Int32Array;
  /** Members of each component: the query's own comes first if it has one, then the largest. */
  sizes: number[];
}

/** Recomputed with every move of the slider: union-find over the edges that hold. */
export function cut(nodes: number, edges: Edges, threshold: number): Cut {
  const held = holding(edges.similarity, threshold);
  const parent = Int32Array.from({ length: nodes }, (_, place) => place);
  const root = (place: number): number => {
    while (parent[place] !== place) {
      parent[place] = parent[parent[place]!]!;
      place = parent[place]!;
    }
    return place;
  };
  for (let edge = 0; edge < held; edge++) {
    const [one, other] = [root(edges.source[edge]!), root(edges.target[edge]!)];
    if (one < other) parent[other] = one;
    else parent[one] = other;
  }
  const members = new Map<number, number>();
  for (let place = 0; place < nodes; place++) members.set(root(place), (members.get(root(place)) ?? 0) + 1);
  // A root is its component's lowest place, so the query's own is place 0.
  const ranked = [...members].filter(([, size]) => size > 1);
  ranked.sort(([one, size], [other, otherSize]) => Number(one > 0) - Number(other > 0) || otherSize - size || one - other);
  const ranks = new Map(ranked.map(([place], rank) => [place, rank]));
  return {
    edges: held,
    component: Int32Array.from({ length: nodes }, (_, place) => ranks.get(root(place)) ?? -1),
    sizes: ranked.map(([, size]) => size),
  };
}

/** How many similarities, descending, reach the threshold. */
function holding(similarity: Float64Array, threshold: number): number {
  let [low, high] = [0, similarity.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (similarity[middle]! >= threshold) low = middle + 1;
    else high = middle;
  }
  return low;
}
