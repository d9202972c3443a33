import { interpolateViridis } from "d3-scale-chromatic";
import type { Cut } from "./cut";

// Okabe and Ito (2008): told apart with any kind of colour vision.
export const DISTINCT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
export const OTHER = "#8a939c"; // alone, one of many small components, or without a value

/** What a colour means. */
export interface Colours {
  /** Of each place. */
  nodes: string[];
  /** Of the largest components, where they tell components apart. */
  components: string[];
  /** Between which values the scale lies, where they tell numbers apart. */
  range: [number, number] | null;
}

export function byComponent({ component, sizes }: Cut): Colours {
  return {
    nodes: Array.from(component, (rank) => DISTINCT[rank] ?? OTHER),
    components: DISTINCT.slice(0, sizes.length),
    range: null,
  };
}

/** Viridis, which gets lighter all the way. */
export function byNumber(values: unknown[]): Colours {
  const numbers = values.filter((value) => typeof value === "number");
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  const span = most - least || 1;
  return {
    nodes: values.map((value) => (typeof value === "number" ? interpolateViridis((value - least) / span) : OTHER)),
    components: [],
    range: numbers.length ? [least, most] : null,
  };
}

/** The scale of `byNumber` as a CSS image, from left to right. */
export const SCALE = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(interpolateViridis).join(", ")})`;
