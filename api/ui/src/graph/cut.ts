import type { Edges } from "./neighborhood";

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
export function cutAtThreshold(nodes: number, edges: Edges, threshold: number): Cut {
  const edgeCount = countAtLeast(edges.similarity, threshold);
  const parent = Int32Array.from({ length: nodes }, (_, index) => index);
  const root = (index: number): number => {
    while (parent[index] !== index) {
      parent[index] = parent[parent[index]!]!;
      index = parent[index]!;
    }
    return index;
  };
  for (let edge = 0; edge < edgeCount; edge++) {
    const [rootA, rootB] = [root(edges.source[edge]!), root(edges.target[edge]!)];
    if (rootA < rootB) parent[rootB] = rootA;
    else parent[rootA] = rootB;
  }
  const members = new Map<number, number>();
  for (let index = 0; index < nodes; index++) members.set(root(index), (members.get(root(index)) ?? 0) + 1);
  // A root is its component's lowest place, so the query's own is place 0.
  const components = [...members].filter(([, size]) => size > 1);
  components.sort(([rootA, size], [rootB, otherSize]) => Number(rootA > 0) - Number(rootB > 0) || otherSize - size || rootA - rootB);
  const ranks = new Map(components.map(([index], rank) => [index, rank]));
  return {
    edges: edgeCount,
    component: Int32Array.from({ length: nodes }, (_, index) => ranks.get(root(index)) ?? -1),
    sizes: components.map(([, size]) => size),
  };
}

/** How many similarities, descending, reach the threshold. */
function countAtLeast(similarity: Float64Array, threshold: number): number {
  let [low, high] = [0, similarity.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (similarity[middle]! >= threshold) low = middle + 1;
    else high = middle;
  }
  return low;
}
