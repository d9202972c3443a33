import { describe, expect, it } from "vitest";
import { byComponent, byNumber, pale, type Paper, shade, stops } from "./colour";

const parts = (colour: string) => [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16) / 255);

/** Relative luminance and contrast, as WCAG 2.2 defines them. */
function luminance(colour: string): number {
  const [red, green, blue] = parts(colour).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

describe("colours", () => {
  it("tell the first clusters apart, and the rest from them", () => {
    const { nodes, components } = byComponent({
      component: Int32Array.from([0, 1, 0, 7, 8, -1]),
      sizes: [2, 2, 2, 2, 2, 2, 2, 2, 2],
    });
    expect(nodes[0]).toBe(nodes[2]);
    expect(new Set(nodes).size).toBe(3);
    expect(new Set(nodes.slice(3)).size).toBe(1);
    expect(components.length).toBe(7);
  });

  it("of numbers get lighter, and are none where there is no number", () => {
    const { nodes, range, without } = byNumber([10, 0, null, "x", 5, NaN], "light");
    expect([range, without]).toEqual([[0, 10], 3]);
    expect([nodes[2], nodes[3], nodes[5]]).toEqual([null, null, null]);
    const [most, least, , , middle] = nodes.map((colour) => (colour === null ? NaN : luminance(colour)));
    expect(least).toBeLessThan(middle!);
    expect(middle).toBeLessThan(most!);
  });

  it.each([
    [[], null],
    [[null, undefined], null],
    [[3, 3], [3, 3]],
  ])("survive %j", (values, range) => {
    expect(byNumber(values, "dark").nodes).toHaveLength(values.length);
    expect(byNumber(values, "dark").range).toEqual(range);
  });

  it.each<[Paper, string]>([
    ["light", "#ffffff"],
    ["dark", "#14171a"],
  ])("are seen on %s paper from end to end", (paper, background) => {
    for (const colour of stops(paper)) expect(contrast(colour, background)).toBeGreaterThanOrEqual(3);
    expect(contrast(shade(0, paper), shade(1, paper))).toBeGreaterThan(3);
  });

  it("are pale enough for what is drawn on them, and still differ", () => {
    for (const colour of stops("light")) expect(contrast(pale(colour), "#000000")).toBeGreaterThan(12);
    expect(new Set(stops("light").map(pale)).size).toBe(5);
  });
});
