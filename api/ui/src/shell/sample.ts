import { bin } from "d3-array";
import type { Client } from "../api/client";
import type { CollectionDetail, Item } from "../api/replies";
import { numericKeys, propertiesOf } from "../results/columns";

/** Number of items that a sketch of a collection reads. */
export const SAMPLE_SIZE = 500;
const MAX_SKETCHES = 2;
const BINS = 16;

/** Small histogram of a property. `counts` are the bins from `min` to `max`. */
export interface Sketch {
  title: string;
  min: number;
  max: number;
  counts: number[];
}

/** A generation, and sketches of its first properties. */
export interface CollectionSample {
  detail: CollectionDetail;
  sketches: Sketch[];
}

/** Read a generation and the first items of it. */
export async function loadSample(client: Client, signal: AbortSignal): Promise<CollectionSample> {
  const [detail, { items }] = await Promise.all([client.detail(signal), client.query({ limit: SAMPLE_SIZE }, signal)]);
  return { detail, sketches: sketchesOf(detail, items) };
}

/** Return histograms of the first numeric properties of the source that vary. */
export function sketchesOf(detail: Pick<CollectionDetail, "manifest" | "computed">, items: Pick<Item, "properties">[]): Sketch[] {
  const properties = propertiesOf(detail);
  const keys = numericKeys(properties).filter((key) => !properties[key]!.isComputed);
  const sketches = keys.flatMap((key): Sketch[] => {
    const values = items.map((item) => item.properties[key]).filter((value) => typeof value === "number");
    const [min, max] = [Math.min(...values), Math.max(...values)];
    if (values.length === 0 || min === max) return [];
    const thresholds = Array.from({ length: BINS - 1 }, (_, index) => min + ((index + 1) * (max - min)) / BINS);
    return [{ title: properties[key]!.title, min, max, counts: bin().domain([min, max]).thresholds(thresholds)(values).map((values) => values.length) }];
  });
  return sketches.slice(0, MAX_SKETCHES);
}
