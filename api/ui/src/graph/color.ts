import { interpolateViridis } from "d3-scale-chromatic";
import { formatAll } from "../results/columns";
import type { Cut } from "./cut";

// Okabe and Ito (2008): distinguishable with any kind of color vision.
const CLUSTER_COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
/** Color of isolated items and of all clusters but the largest. */
export const OTHER_COLOR = "#8a939c";

/** Color scheme of the page. */
export type ColorScheme = "light" | "dark";

// Part of viridis with a contrast of at least 3 to 1 with the background, as WCAG asks.
const VISIBLE_RANGE: Record<ColorScheme, [number, number]> = { light: [0, 0.58], dark: [0.35, 1] };
const WHITE_SHARE = 0.75; // share of white that `lighten` mixes in
const PAPER: Record<ColorScheme, string> = { light: "#ffffff", dark: "#14171a" }; // --paper
const PAPER_SHARE: Record<ColorScheme, number> = { light: 0.5, dark: 0.65 }; // so that texts on a `cellColor` are legible

/** Colors of the nodes and their meaning. */
export interface Coloring {
  /** Color of each node; null, which is drawn hollow, for a missing value. */
  nodes: (string | null)[];
  /** Colors of the largest clusters, largest first; empty if the colors stand for numbers. */
  components: string[];
  /** Values at the ends of the scale; null if the colors stand for clusters or no item has a value. */
  range: Omit<ColorRange, "missingCount"> | null;
  /** Number of items without a value. */
  missingCount: number;
}

/** Color nodes by their component. The largest components get colors of their own. */
export function colorByComponent({ component, sizes }: Pick<Cut, "component" | "sizes">): Coloring {
  return {
    nodes: Array.from(component, (rank) => CLUSTER_COLORS[rank] ?? OTHER_COLOR),
    components: CLUSTER_COLORS.slice(0, sizes.length),
    range: null,
    missingCount: 0,
  };
}

/** Numbers at the ends of a color scale. */
export interface ColorRange {
  min: number;
  max: number;
  /** Whether some numbers lie below `min` or above `max`. They have the color of that end. */
  isClipped: readonly [low: boolean, high: boolean];
  missingCount: number;
}

const CLIPPED_SHARE = 0.02; // share of the numbers that each end may leave out
const STRETCH = 2; // smallest ratio of the full range to the clipped one at which the scale is clipped

/**
 * Return the ends of the numbers among some values, and how many values are none. Without numbers, `min` exceeds `max`.
 *
 * Outliers would give nearly the same color to all other numbers. If they stretch the range to more than twice that of
 * the 2nd to the 98th percentile, these percentiles are the ends.
 */
export function rangeOf(values: ArrayLike<unknown>): ColorRange {
  const numbers = Float64Array.from(Array.from(values).filter((value): value is number => typeof value === "number" && !Number.isNaN(value))).sort();
  const missingCount = values.length - numbers.length;
  if (numbers.length === 0) return { min: Infinity, max: -Infinity, isClipped: [false, false], missingCount };
  const [first, last, cut] = [numbers[0]!, numbers.at(-1)!, Math.floor(CLIPPED_SHARE * numbers.length)];
  const [low, high] = [numbers[cut]!, numbers[numbers.length - 1 - cut]!];
  const isStretched = high > low && last - first > STRETCH * (high - low);
  if (!isStretched) return { min: first, max: last, isClipped: [false, false], missingCount };
  return { min: low, max: high, isClipped: [first < low, last > high], missingCount };
}

/** Return the texts at the ends of a color scale: `≤ 4.1` if the color of that end stands for lower numbers too. */
export function scaleEnds({ min, max, isClipped }: Omit<ColorRange, "missingCount">): [string, string] {
  const [low, high] = formatAll([min, max]) as [string, string];
  return [isClipped[0] ? `≤ ${low}` : low, isClipped[1] ? `≥ ${high}` : high];
}

/** Return the position of a number on a scale, from 0 to 1. */
export function fractionOf(value: number, { min, max }: Pick<ColorRange, "min" | "max">): number {
  return Math.min(Math.max((value - min) / (max - min || 1), 0), 1);
}

/** Color items by a number. Values of other types and NaN count as missing. */
export function colorByNumber(values: ArrayLike<unknown>, colorScheme: ColorScheme): Coloring {
  const range = rangeOf(values);
  return {
    nodes: Array.from(values, (value) =>
      typeof value !== "number" || Number.isNaN(value) ? null : scaleColor(fractionOf(value, range), colorScheme),
    ),
    components: [],
    range: range.missingCount < values.length ? range : null,
    missingCount: range.missingCount,
  };
}

/** Return the color of a fraction from 0 to 1: the larger, the lighter. */
export function scaleColor(fraction: number, colorScheme: ColorScheme): string {
  const [from, to] = VISIBLE_RANGE[colorScheme];
  return interpolateViridis(from + (to - from) * fraction);
}

/** Return five evenly spaced colors of the scale of `colorByNumber`. */
export function scaleStops(colorScheme: ColorScheme): string[] {
  return [0, 0.25, 0.5, 0.75, 1].map((fraction) => scaleColor(fraction, colorScheme));
}

/** Mix a color with white, so that structures are legible on it. */
export function lighten(color: string): string {
  return mix(color, "#ffffff", WHITE_SHARE);
}

/** Return the background of a table cell: the color of a fraction mixed with the background of the page. */
export function cellColor(fraction: number, colorScheme: ColorScheme): string {
  return mix(scaleColor(fraction, colorScheme), PAPER[colorScheme], PAPER_SHARE[colorScheme]);
}

/** Mix a color with a share of another one. Both are written as `#rrggbb`. */
function mix(color: string, other: string, share: number): string {
  const parts = [1, 3, 5].map((start) => {
    const [part, otherPart] = [color, other].map((text) => Number.parseInt(text.slice(start, start + 2), 16));
    return Math.round(part! + (otherPart! - part!) * share);
  });
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
