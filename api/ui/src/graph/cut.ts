import type { Edges } from "./neighborhood";

/** The connected components at a threshold. */
export interface Cut {
  /** Number of edges that reach the threshold. They are the first ones, because edges are sorted by similarity. */
  edgeCount: number;
  /** Rank of the component of each node; -1 for a node without an edge. */
  component: Int32Array;
  /** Size of each component. The component of the query comes first if it has one, then the largest. */
  sizes: number[];
}

/** Find the connected components at a threshold by union-find. This runs on every move of the slider. */
export function cutAtThreshold(nodeCount: number, edges: Edges, threshold: number): Cut {
  const edgeCount = countAtLeast(edges.similarity, threshold);
  const parent = Int32Array.from({ length: nodeCount }, (_, index) => index);
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
  for (let index = 0; index < nodeCount; index++) members.set(root(index), (members.get(root(index)) ?? 0) + 1);
  // A root is the lowest node of its component, so the root of the query's component is node 0.
  const components = [...members].filter(([, size]) => size > 1);
  components.sort(([rootA, size], [rootB, otherSize]) => Number(rootA > 0) - Number(rootB > 0) || otherSize - size || rootA - rootB);
  const ranks = new Map(components.map(([index], rank) => [index, rank]));
  return {
    edgeCount,
    component: Int32Array.from({ length: nodeCount }, (_, index) => ranks.get(root(index)) ?? -1),
    sizes: components.map(([, size]) => size),
  };
}

/** Count the similarities, sorted in descending order, that reach a threshold. */
function countAtLeast(similarity: Float64Array, threshold: number): number {
  let [low, high] = [0, similarity.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (similarity[middle]! >= threshold) low = middle + 1;
    else high = middle;
  }
  return low;
}
