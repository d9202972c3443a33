import { describe, expect, it } from "vitest";
import { faintness, strokes, thickness } from "./underlay";

describe("edges in strokes", () => {
  const similarity = Float64Array.from({ length: 5000 }, (_, edge) => 1 - (0.6 * edge) / 4999);

  it.each([0, 1, 777, 5000])("are all there once: %i of them", (held) => {
    let place = 0;
    for (const { from, to } of strokes(similarity, held)) {
      expect(from).toBe(place);
      expect(to).toBeGreaterThan(from);
      place = to;
    }
    expect(place).toBe(held);
  });

  it("are few, and about as wide as each edge would be alone", () => {
    const found = strokes(similarity, similarity.length);
    expect(found.length).toBeLessThan(15);
    for (const { width, from, to } of found)
      for (let edge = from; edge < to; edge++) expect(Math.abs(width - thickness(similarity[edge]!))).toBeLessThan(0.5);
  });

  it("are lighter, the more there are beyond 500", () => {
    expect([0, 1, 500].map(faintness)).toEqual([0.45, 0.45, 0.45]);
    expect(faintness(1000)).toBeCloseTo(0.225);
    expect(faintness(5000)).toBe(0.12);
  });

  it("are wider where similarity is higher", () => {
    const widths = strokes(similarity, similarity.length).map(({ width }) => width);
    expect(widths).toEqual([...new Set(widths)].sort((one, other) => other - one));
  });
});
