import { describe, expect, it } from "vitest";
import { layout } from "./layout";
import type { Edges } from "./neighborhood";

const STAR: Edges = {
  source: Int32Array.from([0, 0, 0, 0]),
  target: Int32Array.from([1, 2, 3, 4]),
  similarity: Float64Array.from([0.95, 0.9, 0.5, 0.4]),
};

/** Families of similar nodes: 0.7 within a family, 0.41 with one node of each other family. */
function families(number: number, members: number): Edges {
  const [source, target, similarity]: number[][] = [[], [], []];
  for (const inside of [true, false])
    for (let a = 0; a < number * members; a++)
      for (let b = a + 1; b < number * members; b++) {
        const related = Math.floor(a / members) === Math.floor(b / members);
        if (related !== inside || (!related && (b - a) % members !== 0)) continue;
        source!.push(a);
        target!.push(b);
        similarity!.push(related ? 0.7 : 0.41);
      }
  return {
    source: Int32Array.from(source!),
    target: Int32Array.from(target!),
    similarity: Float64Array.from(similarity!),
  };
}

const signal = new AbortController().signal;

describe("a layout", () => {
  it("puts the query in the middle and the most similar node nearest to it", async () => {
    const points = await layout(5, STAR, [], signal);
    expect(points[0]).toEqual({ x: 0, y: 0 });
    const distances = points.map(({ x, y }) => Math.hypot(x, y));
    expect(distances[1]).toBeLessThan(distances[4]!);
    expect(distances.slice(1).every((distance) => distance > 60)).toBe(true);
  });

  it("separates families that are only weakly similar", async () => {
    const [number, members] = [40, 8];
    const points = await layout(number * members, families(number, members), [], signal);
    const family = (index: number) => Math.floor(index / members);
    const strays = points.filter((point, index) => {
      const distances = points.map(({ x, y }, b) => (b === index ? Infinity : Math.hypot(x - point.x, y - point.y)));
      return family(distances.indexOf(Math.min(...distances))) !== family(index);
    });
    expect(strays.length).toBeLessThan(0.05 * points.length);
  });

  it("is deterministic", async () => {
    expect(await layout(5, STAR, [], signal)).toEqual(await layout(5, STAR, [], signal));
  });

  it("puts a new node near its neighbor and leaves the others almost in place", async () => {
    const before = await layout(4, { ...STAR, similarity: STAR.similarity.subarray(0, 3) }, [], signal);
    const after = await layout(5, STAR, before, signal);
    for (const [index, { x, y }] of before.entries())
      expect(Math.hypot(after[index]!.x - x, after[index]!.y - y)).toBeLessThan(150);
    expect(Math.hypot(after[4]!.x - after[0]!.x, after[4]!.y - after[0]!.y)).toBeLessThan(300);
  });
});
