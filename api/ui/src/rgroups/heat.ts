import { cellColor, type ColorScheme } from "../graph/color";

/** Return the smallest and the largest number among values; null if there is none. */
export function rangeOf(values: readonly unknown[]): [number, number] | null {
  const numbers = values.filter((value) => typeof value === "number");
  if (numbers.length === 0) return null;
  return numbers.reduce<[number, number]>(([min, max], value) => [Math.min(min, value), Math.max(max, value)], [Infinity, -Infinity]);
}

/** Return the background color of a value within a range; null for a missing value. */
export function heatColor(value: unknown, range: [number, number] | null, colorScheme: ColorScheme): string | null {
  if (typeof value !== "number" || range === null) return null;
  const [min, max] = range;
  return cellColor(max > min ? (value - min) / (max - min) : 0, colorScheme);
}
