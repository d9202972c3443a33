import { describe, expect, it } from "vitest";
import { byComponent, byNumber } from "./colour";

describe("colours", () => {
  it("tell the first components apart, and the rest from them", () => {
    const { nodes, components } = byComponent({
      edges: 0,
      component: Int32Array.from([0, 1, 0, 7, 8, -1]),
      sizes: [2, 2, 2, 2, 2, 2, 2, 2, 2],
    });
    expect(nodes[0]).toBe(nodes[2]);
    expect(new Set(nodes).size).toBe(3);
    expect(new Set(nodes.slice(3)).size).toBe(1);
    expect(components.length).toBe(7);
  });

  it("of numbers get lighter, and grey where there is none", () => {
    const { nodes, range } = byNumber([10, 0, null, "x", 5]);
    expect(range).toEqual([0, 10]);
    expect(nodes[2]).toBe(nodes[3]);
    const green = (colour: string | undefined) => Number.parseInt(colour?.slice(3, 5) ?? "", 16);
    expect(green(nodes[1])).toBeLessThan(green(nodes[4]));
    expect(green(nodes[4])).toBeLessThan(green(nodes[0]));
  });

  it.each([
    [[], null],
    [[null, undefined], null],
    [[3, 3], [3, 3]],
  ])("survive %j", (values, range) => {
    expect(byNumber(values).nodes).toHaveLength(values.length);
    expect(byNumber(values).range).toEqual(range);
  });
});
