import type { Client } from "../api/client";
import { cellColor, type ColorRange, type ColorScheme, fractionOf } from "../graph/color";
import type { ItemRequest } from "./results";

/** Range of a numeric property over all items of a request. */
export interface ValueRange {
  min: number;
  max: number;
  /** Number of items without a value. */
  missingCount: number;
}

/** The column whose values are shown in color, and its range. */
export interface Coloring {
  /** Key of the column. */
  key: string;
  range: ValueRange;
}

/** Load the range of a property over all items of a request, not only those on loaded pages; null if none has a value. */
export async function loadRange(client: Client, request: ItemRequest, apiName: string, signal: AbortSignal): Promise<ValueRange | null> {
  const withValue = { ...request, filters: [...(request.filters ?? []), { property: apiName, min: -Number.MAX_VALUE }] };
  const pageOf = (body: ItemRequest) => client.query({ ...body, columns: [apiName], limit: 1 }, signal);
  const [lowest, highest, all] = await Promise.all([
    pageOf({ ...withValue, sort: { by: apiName, descending: false } }),
    pageOf({ ...withValue, sort: { by: apiName, descending: true } }),
    pageOf({ ...request, sort: null }),
  ]);
  const [min, max] = [lowest, highest].map(({ items: [item] }) => item && numberOf({ ...item.properties, ...item.computed }));
  if (min === undefined || max === undefined) return null;
  return { min, max, missingCount: all.total - lowest.total };
}

/** Return the number among the columns of an item, of which only one was requested. */
function numberOf(columns: Record<string, unknown>): number | undefined {
  return Object.values(columns).find((value) => typeof value === "number");
}

/** Return the background of a value on the scale of its range; null for a missing value. */
export function valueColor(value: unknown, range: Pick<ColorRange, "min" | "max">, colorScheme: ColorScheme): string | null {
  return typeof value === "number" ? cellColor(range.max > range.min ? fractionOf(value, range) : 0.5, colorScheme) : null;
}
