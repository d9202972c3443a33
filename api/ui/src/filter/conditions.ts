import type { components } from "../api/openapi";
import type { ItemProperties } from "../results/columns";

/**
 * Condition on one property: an inclusive range of numbers, open where null, or a text that the value contains in any
 * case.
 */
export interface Condition {
  property: string;
  min: number | null;
  max: number | null;
  contains: string | null;
}

type Filter = components["schemas"]["Filter"];

/** Format a condition for the address, for example `["log P",1,null]` or `["class","acid"]`. */
export function formatCondition({ property, min, max, contains }: Condition): string {
  return JSON.stringify(contains === null ? [property, min, max] : [property, contains]);
}

/** Parse a condition of the address. The list is empty if the text is malformed. */
export function parseCondition(text: string): Condition[] {
  const parts = parseJson(text);
  if (!Array.isArray(parts) || typeof parts[0] !== "string") return [];
  const [property, first, second] = parts as [string, unknown, unknown];
  if (parts.length === 2 && typeof first === "string" && first !== "") return [{ property, min: null, max: null, contains: first }];
  const isBound = (value: unknown) => typeof value === "number" || value === null;
  if (parts.length !== 3 || !isBound(first) || !isBound(second)) return [];
  if (first === null && second === null) return [];
  return [{ property, min: first as number | null, max: second as number | null, contains: null }];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether a condition accepts every item. */
export function isEmpty({ min, max, contains }: Condition): boolean {
  return min === null && max === null && !contains;
}

/** Convert conditions to filters of the API, which refers to properties by their export names. */
export function toFilters(conditions: Condition[], properties: ItemProperties): Filter[] {
  return conditions.map(({ property, min, max, contains }) => ({
    property: properties[property]?.apiName ?? property,
    ...(min === null ? {} : { min }),
    ...(max === null ? {} : { max }),
    ...(contains === null ? {} : { contains }),
  }));
}
