import { quantileSorted } from "d3-array";
import type { ScaleType } from "./scaleType";

/** The summary of some values as Tukey draws it. */
export interface Box {
  count: number;
  quartiles: [number, number, number];
  /** The most extreme values within 1.5 interquartile ranges of the box. */
  whiskers: [number, number];
  /** Values beyond the whiskers, at most `MAX_OUTLIERS` of them. */
  outliers: number[];
  /** Number of all values beyond the whiskers. */
  outlierCount: number;
}

const WHISKER_RANGES = 1.5;
const MAX_OUTLIERS = 100;

/**
 * Summarize values; null if there are none. Missing values are left out, and on a logarithmic scale those that are not
 * positive, too. On that scale, the ranges of the whiskers are measured in logarithms.
 */
export function boxOf(values: Float64Array, type: ScaleType): Box | null {
  const sorted = [...(type === "log" ? values.map(Math.log10) : values).filter(Number.isFinite).sort()];
  if (sorted.length === 0) return null;
  const valueOf = (position: number) => (type === "log" ? 10 ** position : position);
  const quartiles = [0.25, 0.5, 0.75].map((share) => quantileSorted(sorted, share)!) as Box["quartiles"];
  const reach = WHISKER_RANGES * (quartiles[2] - quartiles[0]);
  const isWithin = (position: number) => position >= quartiles[0] - reach && position <= quartiles[2] + reach;
  const within = sorted.filter(isWithin);
  const beyond = sorted.filter((position) => !isWithin(position));
  const step = Math.max(1, Math.ceil(beyond.length / MAX_OUTLIERS));
  return {
    count: sorted.length,
    quartiles: quartiles.map(valueOf) as Box["quartiles"],
    whiskers: [valueOf(within[0]!), valueOf(within.at(-1)!)],
    outliers: beyond.filter((_, index) => index % step === 0).map(valueOf),
    outlierCount: beyond.length,
  };
}
