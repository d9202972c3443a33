import { scaleLinear, scaleLog } from "d3-scale";
import type { ScaleType } from "./scaleType";

/** An axis of a plot. */
export interface Axis {
  type: ScaleType;
  /** Values at the ends of the axis. */
  domain: [number, number];
}

/** The ends of a part of an axis: fractions of its length, or values. */
export type Range = [number, number];

/** A tick: its position from the start of the axis in pixels, and its text, which is empty for a minor tick. */
export interface Tick {
  position: number;
  text: string;
}

const PADDING = 0.03; // share of an axis that is empty at each end
const MIN_LOG_RATIO = 1000; // ratio of the largest to the smallest value that suggests a logarithmic scale

const MIN_DIGITS = 4; // digits of a rounded end of a range
const MAX_DIGITS = 15; // the digits that a floating-point number holds

/**
 * Return the scale that suits some values: logarithmic if all are positive and they span three orders of magnitude, as
 * concentrations do.
 */
export function suggestedScale(values: Float64Array): ScaleType {
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return min > 0 && max / min >= MIN_LOG_RATIO && max < Infinity ? "log" : "linear";
}

/** Return the axis that shows all values, with some space at its ends; null if none can be shown. */
export function axisOf(values: Float64Array, type: ScaleType): Axis | null {
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    const position = placeOf(type, value);
    if (position < min && position > -Infinity) min = position;
    if (position > max && position < Infinity) max = position;
  }
  if (min > max) return null;
  const padding = max > min ? (max - min) * PADDING : 0.5;
  const ends: Range = [min - padding, max + padding];
  return { type, domain: type === "log" ? [10 ** ends[0], 10 ** ends[1]] : ends };
}

/** Return the fraction of the axis at which each value lies; NaN for a value that the axis cannot show. */
export function fractionsOf({ type, domain }: Axis, values: Float64Array): Float32Array {
  const [start, end] = [placeOf(type, domain[0]), placeOf(type, domain[1])];
  return Float32Array.from(values, (value) => {
    const position = placeOf(type, value);
    return Number.isFinite(position) ? (position - start) / (end - start) : NaN;
  });
}

/** Return the value at a fraction of the axis. */
export function valueAt({ type, domain }: Axis, fraction: number): number {
  const [start, end] = [placeOf(type, domain[0]), placeOf(type, domain[1])];
  const position = start + (end - start) * fraction;
  return type === "log" ? 10 ** position : position;
}

/** Return the ticks of the visible part of an axis of this length in pixels. */
export function ticksOf(axis: Axis, [first, last]: Range, length: number, spacing: number): Tick[] {
  const count = Math.max(2, Math.floor(length / spacing));
  const domain = [valueAt(axis, first), valueAt(axis, last)];
  if (axis.type === "log") {
    const scale = scaleLog().domain(domain).range([0, length]);
    const majorText = scale.tickFormat(count); // empty for minor ticks
    return scale.ticks(count).map((value) => ({ position: scale(value), text: majorText(value) && logText(value) }));
  }
  const scale = scaleLinear().domain(domain).range([0, length]);
  const format = scale.tickFormat(count);
  return scale.ticks(count).map((value) => ({ position: scale(value), text: format(value) }));
}

/** Round both ends of a range of values: to four digits, or to more if the range is small compared with its values. */
export function roundEnds([min, max]: Range): Range {
  const ratio = Math.max(Math.abs(min), Math.abs(max)) / (max - min);
  const digits = Math.min(Math.max(MIN_DIGITS, Math.ceil(Math.log10(ratio)) + 2), MAX_DIGITS);
  return [Number(min.toPrecision(digits)), Number(max.toPrecision(digits))];
}

/** Write a number as briefly as its size allows. */
function logText(value: number): string {
  const isExtreme = value < 1e-4 || value >= 1e6;
  return isExtreme ? value.toExponential(0) : value.toLocaleString("en", { maximumSignificantDigits: 3 });
}

function placeOf(type: ScaleType, value: number): number {
  return type === "log" ? Math.log10(value) : value; // NaN or -Infinity unless the value is positive
}
