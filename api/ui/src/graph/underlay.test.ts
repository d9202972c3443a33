import { describe, expect, it } from "vitest";
import { edgeOpacity, strokes, edgeWidth } from "./underlay";

describe("strokes", () => {
  const similarity = Float64Array.from({ length: 5000 }, (_, edge) => 1 - (0.6 * edge) / 4999);

  it.each([0, 1, 777, 5000])("cover each of %i edges once", (edgeCount) => {
    let position = 0;
    for (const { from, to } of strokes(similarity, edgeCount)) {
      expect(from).toBe(position);
      expect(to).toBeGreaterThan(from);
      position = to;
    }
    expect(position).toBe(edgeCount);
  });

  it("are few, and about as wide as each edge alone", () => {
    const result = strokes(similarity, similarity.length);
    expect(result.length).toBeLessThan(15);
    for (const { width, from, to } of result)
      for (let edge = from; edge < to; edge++) expect(Math.abs(width - edgeWidth(similarity[edge]!))).toBeLessThan(0.5);
  });

  it("are lighter the more edges there are beyond 500", () => {
    expect([0, 1, 500].map(edgeOpacity)).toEqual([0.45, 0.45, 0.45]);
    expect(edgeOpacity(1000)).toBeCloseTo(0.225);
    expect(edgeOpacity(5000)).toBe(0.12);
  });

  it("are wider for higher similarity", () => {
    const widths = strokes(similarity, similarity.length).map(({ width }) => width);
    expect(widths).toEqual([...new Set(widths)].sort((a, b) => b - a));
  });
});
