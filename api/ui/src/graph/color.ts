import { interpolateViridis } from "d3-scale-chromatic";
import type { Cut } from "./cut";

// Okabe and Ito (2008): told apart with any kind of colour vision.
const CLUSTER_COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
export const OTHER_COLOR = "#8a939c"; // alone, or of one of many small clusters

/** What colours stand on. */
export type ColorScheme = "light" | "dark";

const VISIBLE_RANGE: Record<ColorScheme, [number, number]> = { light: [0, 0.58], dark: [0.35, 1] }; // of viridis: 3 to 1, as WCAG asks
const WHITE_SHARE = 0.75; // of white

/** What a colour means. */
export interface Coloring {
  /** Of each place; null, which is hollow, where it has no value. */
  nodes: (string | null)[];
  /** Of the largest clusters, where colours tell clusters apart. */
  components: string[];
  /** Between which values the scale lies, where they tell numbers apart. */
  range: [number, number] | null;
  /** How many have no value. */
  missingCount: number;
}

export function colorByComponent({ component, sizes }: Pick<Cut, "component" | "sizes">): Coloring {
  return {
    nodes: Array.from(component, (rank) => CLUSTER_COLORS[rank] ?? OTHER_COLOR),
    components: CLUSTER_COLORS.slice(0, sizes.length),
    range: null,
    missingCount: 0,
  };
}

/** Numbers, among what else values may be: none. */
export function colorByNumber(values: ArrayLike<unknown>, colorScheme: ColorScheme): Coloring {
  let [min, max, missingCount] = [Infinity, -Infinity, 0];
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value !== "number" || Number.isNaN(value)) missingCount++;
    else [min, max] = [Math.min(min, value), Math.max(max, value)];
  }
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

/** From 0 to 1, lighter all the way: the part of viridis of which both ends are seen on the paper. */
export function scaleColor(fraction: number, colorScheme: ColorScheme): string {
  const [from, to] = VISIBLE_RANGE[colorScheme];
  return interpolateViridis(from + (to - from) * fraction);
}

/** Stops of the scale of `byNumber`, evenly. */
export function scaleStops(colorScheme: ColorScheme): string[] {
  return [0, 0.25, 0.5, 0.75, 1].map((fraction) => scaleColor(fraction, colorScheme));
}

/** Light enough to draw structures on. */
export function lighten(color: string): string {
  const parts = [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
  return `#${parts.map((fraction) => Math.round(fraction + (255 - fraction) * WHITE_SHARE).toString(16).padStart(2, "0")).join("")}`;
}
