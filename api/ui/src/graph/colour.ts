import { interpolateViridis } from "d3-scale-chromatic";
import type { Cut } from "./cut";

// Okabe and Ito (2008): told apart with any kind of colour vision.
const DISTINCT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
export const OTHER = "#8a939c"; // alone, or of one of many small clusters

/** What colours stand on. */
export type Paper = "light" | "dark";

const SEEN: Record<Paper, [number, number]> = { light: [0, 0.58], dark: [0.35, 1] }; // of viridis: 3 to 1, as WCAG asks
const PALE = 0.75; // of white

/** What a colour means. */
export interface Colours {
  /** Of each place; null, which is hollow, where it has no value. */
  nodes: (string | null)[];
  /** Of the largest clusters, where colours tell clusters apart. */
  components: string[];
  /** Between which values the scale lies, where they tell numbers apart. */
  range: [number, number] | null;
  /** How many have no value. */
  without: number;
}

export function byComponent({ component, sizes }: Pick<Cut, "component" | "sizes">): Colours {
  return {
    nodes: Array.from(component, (rank) => DISTINCT[rank] ?? OTHER),
    components: DISTINCT.slice(0, sizes.length),
    range: null,
    without: 0,
  };
}

/** Numbers, among what else values may be: none. */
export function byNumber(values: ArrayLike<unknown>, paper: Paper): Colours {
  let [least, most, without] = [Infinity, -Infinity, 0];
  for (let place = 0; place < values.length; place++) {
    const value = values[place];
    if (typeof value !== "number" || Number.isNaN(value)) without++;
    else [least, most] = [Math.min(least, value), Math.max(most, value)];
  }
  const span = most - least || 1;
  return {
    nodes: Array.from(values, (value) =>
      typeof value !== "number" || Number.isNaN(value) ? null : shade((value - least) / span, paper),
    ),
    components: [],
    range: without < values.length ? [least, most] : null,
    without,
  };
}

/** From 0 to 1, lighter all the way: the part of viridis of which both ends are seen on the paper. */
export function shade(part: number, paper: Paper): string {
  const [from, to] = SEEN[paper];
  return interpolateViridis(from + (to - from) * part);
}

/** Stops of the scale of `byNumber`, evenly. */
export function stops(paper: Paper): string[] {
  return [0, 0.25, 0.5, 0.75, 1].map((part) => shade(part, paper));
}

/** Light enough to draw structures on. */
export function pale(colour: string): string {
  const parts = [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16));
  return `#${parts.map((part) => Math.round(part + (255 - part) * PALE).toString(16).padStart(2, "0")).join("")}`;
}
