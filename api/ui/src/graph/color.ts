import { interpolateViridis } from "d3-scale-chromatic";
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
  range: [number, number] | null;
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

/** Return the ends of the numbers among some values, and how many values are none. Without numbers, `min` exceeds `max`. */
export function rangeOf(values: ArrayLike<unknown>): { min: number; max: number; missingCount: number } {
  let [min, max, missingCount] = [Infinity, -Infinity, 0];
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value !== "number" || Number.isNaN(value)) missingCount++;
    else {
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  return { min, max, missingCount };
}

/** Color items by a number. Values of other types and NaN count as missing. */
export function colorByNumber(values: ArrayLike<unknown>, colorScheme: ColorScheme): Coloring {
  const { min, max, missingCount } = rangeOf(values);
  const span = max - min || 1;
  return {
    nodes: Array.from(values, (value) =>
      typeof value !== "number" || Number.isNaN(value) ? null : scaleColor((value - min) / span, colorScheme),
    ),
    components: [],
    range: missingCount < values.length ? [min, max] : null,
    missingCount,
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
