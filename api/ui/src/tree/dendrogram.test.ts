import { describe, expect, it } from "vitest";
import { buildDendrogram, condense, type Edge, leavesOf, medoidOf, membersOf, type Part, placeBranches, readableMinSize } from "./dendrogram";

/** Items 0 to 2 are joined at 0.9, items 3 and 4 at 0.8, both at 0.5, and item 5 at 0.4. Item 6 is alone. */
const EDGES: Edge[] = [
  [0, 1, 0.9],
  [1, 2, 0.9],
  [3, 4, 0.8],
  [2, 3, 0.5],
  [0, 4, 0.45],
  [4, 5, 0.4],
];
const shapeOf = ({ similarity, children, member }: Part): unknown => (similarity === null ? member : [similarity, ...children.map(shapeOf)]);
const [root] = buildDendrogram(7, EDGES) as [Part];

/** Components at a threshold, by repeated merging instead of union-find. */
function components(itemCount: number, edges: readonly Edge[], threshold: number): string[] {
  let groups = Array.from({ length: itemCount }, (_, index) => new Set([index]));
  for (const [a, b, similarity] of edges) {
    if (similarity < threshold) continue;
    const joined = groups.filter((group) => group.has(a) || group.has(b));
    groups = [...groups.filter((group) => !joined.includes(group)), new Set(joined.flatMap((group) => [...group]))];
  }
  return groups.map((group) => [...group].toSorted((a, b) => a - b).join(",")).toSorted();
}

describe("a dendrogram", () => {
  it("joins items from the most similar pair on, and several at once if they are equally similar", () => {
    expect(shapeOf(root)).toEqual([0.4, [0.5, [0.9, 0, 1, 2], [0.8, 3, 4]], 5]);
    expect(buildDendrogram(7, EDGES).map(({ size }) => size)).toEqual([6, 1]);
  });

  it("has the components of each threshold as its parts", () => {
    const edges: Edge[] = [];
    for (let step = 1; step < 400; step++) edges.push([(step * 37) % 60, (step * 53 + 7) % 60, Math.round((0.4 + ((step * 17) % 59) / 100) * 100) / 100]);
    const roots = buildDendrogram(60, edges);
    const partsAt = (part: Part, threshold: number): Part[] =>
      part.similarity === null || part.similarity >= threshold ? [part] : part.children.flatMap((child) => partsAt(child, threshold));
    for (const threshold of [0.4, 0.55, 0.7, 0.9, 0.97]) {
      const parts = roots.flatMap((part) => partsAt(part, threshold));
      expect(parts.map((part) => membersOf(part).toSorted((a, b) => a - b).join(",")).toSorted()).toEqual(components(60, edges, threshold));
    }
  });

  it("omits small parts, and counts them", () => {
    const branch = condense(root, 0.3, 2);
    expect([branch.from, branch.to, branch.omitted]).toEqual([0.3, 0.5, 1]);
    expect(leavesOf(branch).map(({ part, from, to, omitted }) => [part.size, from, to, omitted])).toEqual([
      [3, 0.5, 0.9, 0],
      [2, 0.5, 0.8, 0],
    ]);
    expect(leavesOf(condense(root, 0.3, 1))).toHaveLength(6);
    expect(leavesOf(condense(root, 0.3, 10)).map(({ part }) => part.size)).toEqual([6]);
  });

  it("omits as little as is needed to be readable", () => {
    expect([6, 5, 2, 1].map((maxLeaves) => readableMinSize(root, 0.3, maxLeaves))).toEqual([1, 2, 2, 3]);
  });

  it("places each branch in the middle of its children", () => {
    const placed = placeBranches(condense(root, 0.3, 1));
    expect(placed.filter(({ span }) => span === null).map(({ row }) => row)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(placed.at(-1)).toMatchObject({ span: [2.25, 5], row: 3.625 });
  });

  it("has a medoid in each part", () => {
    expect([medoidOf(root, EDGES), medoidOf(root.children[1]!, EDGES)]).toEqual([1, 5]);
  });
});
