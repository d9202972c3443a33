import { describe, expect, it } from "vitest";
import { layout } from "./layout";
import type { Edges } from "./neighbourhood";

const STAR: Edges = {
  source: Int32Array.from([0, 0, 0, 0]),
  target: Int32Array.from([1, 2, 3, 4]),
  similarity: Float64Array.from([0.95, 0.9, 0.5, 0.4]),
};
const signal = new AbortController().signal;

describe("a layout", () => {
  it("has the query in the middle, and the most similar nearest to it", async () => {
    const points = await layout(5, STAR, [], signal);
    expect(points[0]).toEqual({ x: 0, y: 0 });
    const away = points.map(({ x, y }) => Math.hypot(x, y));
    expect(away[1]).toBeLessThan(away[4]!);
    expect(away.slice(1).every((distance) => distance > 60)).toBe(true);
  });

  it("is the same every time", async () => {
    expect(await layout(5, STAR, [], signal)).toEqual(await layout(5, STAR, [], signal));
  });

  it("puts who is new beside its neighbour, and leaves the others about there", async () => {
    const before = await layout(4, { ...STAR, similarity: STAR.similarity.subarray(0, 3) }, [], signal);
    const after = await layout(5, STAR, before, signal);
    for (const [place, { x, y }] of before.entries())
      expect(Math.hypot(after[place]!.x - x, after[place]!.y - y)).toBeLessThan(150);
    expect(Number.isFinite(after[4]!.x)).toBe(true);
  });
});
