import { describe, expect, it } from "vitest";
import { cellColor, colorByComponent, colorByNumber, lighten, type ColorScheme, rangeOf, scaleColor, scaleEnds, scaleStops } from "./color";

const parts = (color: string) => [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16) / 255);

/** Relative luminance and contrast as defined by WCAG 2.2. */
function luminance(color: string): number {
  const [red, green, blue] = parts(color).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(a: string, b: string): number {
  const [darker, lighter] = [luminance(a), luminance(b)].sort((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

describe("colors", () => {
  it("distinguish the largest clusters from each other and from the rest", () => {
    const { nodes, components } = colorByComponent({
      component: Int32Array.from([0, 1, 0, 7, 8, -1]),
      sizes: [2, 2, 2, 2, 2, 2, 2, 2, 2],
    });
    expect(nodes[0]).toBe(nodes[2]);
    expect(new Set(nodes).size).toBe(3);
    expect(new Set(nodes.slice(3)).size).toBe(1);
    expect(components.length).toBe(7);
  });

  it("get lighter with the number, and are null for a missing number", () => {
    const { nodes, range, missingCount } = colorByNumber([10, 0, null, "x", 5, NaN], "light");
    expect([range?.min, range?.max, missingCount]).toEqual([0, 10, 3]);
    expect([nodes[2], nodes[3], nodes[5]]).toEqual([null, null, null]);
    const [most, least, , , middle] = nodes.map((color) => (color === null ? NaN : luminance(color)));
    expect(least).toBeLessThan(middle!);
    expect(middle).toBeLessThan(most!);
  });

  it.each([
    [[], null],
    [[null, undefined], null],
    [[3, 3], [3, 3]],
  ])("accept the values %j", (values, range) => {
    expect(colorByNumber(values, "dark").nodes).toHaveLength(values.length);
    const ends = colorByNumber(values, "dark").range;
    expect(ends && [ends.min, ends.max]).toEqual(range);
  });

  it("spread over all numbers but outliers, which have the color of an end", () => {
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    const { nodes, range } = colorByNumber([...numbers, 1e6], "light");
    expect(range).toMatchObject({ min: 2, max: 98, isClipped: [true, true] });
    expect(scaleEnds(range!)).toEqual(["≤ 2", "≥ 98"]);
    expect(nodes.at(-1)).toBe(nodes[98]);
    expect(nodes[0]).toBe(nodes[2]);
    expect(new Set(nodes).size).toBeGreaterThan(50);
  });

  it.each([
    [Array.from({ length: 100 }, (_, index) => index), 0, 99],
    [[...Array<number>(99).fill(5), 7], 5, 7], // Nearly all numbers are equal: a clipped scale would have no span.
  ])("keep the full range without outliers", (numbers, min, max) => {
    expect(rangeOf(numbers)).toEqual({ min, max, isClipped: [false, false], missingCount: 0 });
  });

  it.each<[ColorScheme, string]>([
    ["light", "#ffffff"],
    ["dark", "#14171a"],
  ])("have enough contrast with a %s background over the whole scale", (colorScheme, background) => {
    for (const color of scaleStops(colorScheme)) expect(contrast(color, background)).toBeGreaterThanOrEqual(3);
    expect(contrast(scaleColor(0, colorScheme), scaleColor(1, colorScheme))).toBeGreaterThan(3);
  });

  it.each<[ColorScheme, string]>([
    ["light", "#171a1d"],
    ["dark", "#e6e9ec"],
  ])("are legible as backgrounds of %s tables", (colorScheme, text) => {
    const backgrounds = [0, 0.25, 0.5, 0.75, 1].map((fraction) => cellColor(fraction, colorScheme));
    expect(new Set(backgrounds).size).toBe(5);
    for (const background of backgrounds) expect(contrast(background, text)).toBeGreaterThanOrEqual(4.5);
  });

  it("are distinct after lightening, and light enough for black structures", () => {
    for (const color of scaleStops("light")) expect(contrast(lighten(color), "#000000")).toBeGreaterThan(12);
    expect(new Set(scaleStops("light").map(lighten)).size).toBe(5);
  });
});
