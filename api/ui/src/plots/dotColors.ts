import { type Coloring, type ColorScheme, fractionOf, OTHER_COLOR, rangeOf, scaleColor } from "../graph/color";
import { packColor } from "../map/points";

const STEPS = 256; // colors of the scale
const ACCENTS: Record<ColorScheme, string> = { light: "#0a6a8f", dark: "#74c7e8" }; // --accent

/** Pixels of dots and what their colors mean. */
export interface DotColors {
  pixels: Uint32Array;
  coloring: Coloring;
}

/** Give all dots the same color. */
export function plainDots(count: number, colorScheme: ColorScheme): DotColors {
  const pixels = new Uint32Array(count).fill(packColor(ACCENTS[colorScheme]));
  return { pixels, coloring: { nodes: [], components: [], range: null, missingCount: 0 } };
}

/** Color dots by a number. Dots without one are gray. */
export function colorDots(values: Float64Array, colorScheme: ColorScheme): DotColors {
  const range = rangeOf(values);
  const scale = Uint32Array.from({ length: STEPS }, (_, step) => packColor(scaleColor(step / (STEPS - 1), colorScheme)));
  const missing = packColor(OTHER_COLOR);
  const pixels = Uint32Array.from(values, (value) => (Number.isNaN(value) ? missing : scale[Math.round(fractionOf(value, range) * (STEPS - 1))]!));
  const { missingCount } = range;
  return { pixels, coloring: { nodes: [], components: [], range: missingCount < values.length ? range : null, missingCount } };
}
