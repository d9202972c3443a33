import { ticks } from "d3-array";
import type { Axis } from "./axis";
import type { ScaleType } from "./scaleType";

/** A bar of a histogram: values from `min` up to, but without, `max`; the last bar includes it. */
export interface Bar {
  min: number;
  max: number;
  /** Indices of the values. */
  indices: number[];
}

const BARS = 40; // approximate number of bars

/** Distribute values over bars whose ends are round numbers. Values that the axis cannot show are left out. */
export function barsOf(values: Float64Array, type: ScaleType): Bar[] {
  const positions = type === "log" ? values.map(Math.log10) : values;
  let [min, max] = [Infinity, -Infinity];
  for (const position of positions) {
    if (position < min && position > -Infinity) min = position;
    if (position > max && position < Infinity) max = position;
  }
  if (min > max) return [];
  const step = stepOf(min, max, type);
  const start = Math.floor(min / step);
  const count = Math.floor(max / step) - start + 1;
  const valueOf = (edge: number) => (type === "log" ? 10 ** (edge * step) : Number((edge * step).toPrecision(12)));
  const bars = Array.from({ length: count }, (_, bar): Bar => ({ min: valueOf(start + bar), max: valueOf(start + bar + 1), indices: [] }));
  positions.forEach((position, index) => {
    if (Number.isFinite(position)) bars[Math.min(Math.floor(position / step) - start, count - 1)]?.indices.push(index);
  });
  return bars;
}

/** Return the width of the bars, in logarithms of ten on a logarithmic scale. */
function stepOf(min: number, max: number, type: ScaleType): number {
  if (min === max) return type === "log" ? 0.1 : Math.abs(min) || 1;
  const [first = 0, second = first + 1] = ticks(min, max, BARS);
  return second - first;
}

/** Return the axis below the bars. */
export function barAxis(bars: Bar[], type: ScaleType): Axis {
  return { type, domain: [bars[0]!.min, bars.at(-1)!.max] };
}
