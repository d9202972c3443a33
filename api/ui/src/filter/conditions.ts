import type { components } from "../api/openapi";
import { exportNames, type PropertyKinds } from "../results/columns";

/** What items pass of one property: a range of numbers, open where null, or a part of a text in any case. */
export interface Condition {
  property: string;
  min: number | null;
  max: number | null;
  contains: string | null;
}

type Filter = components["schemas"]["Filter"];

/** How the address says one: `["log P",1,null]`, `["class","acid"]`. */
export function formatCondition({ property, min, max, contains }: Condition): string {
  return JSON.stringify(contains === null ? [property, min, max] : [property, contains]);
}

/** What the address says; none where it says nothing that can be asked. */
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

/** Nothing asked of it yet. */
export function isEmpty({ min, max, contains }: Condition): boolean {
  return min === null && max === null && !contains;
}

/** As the API takes them, for which properties are called as exports call them. */
export function toFilters(conditions: Condition[], properties: PropertyKinds): Filter[] {
  const names = exportNames(properties);
  return conditions.map(({ property, min, max, contains }) => ({
    property: names.get(property) ?? property,
    ...(min === null ? {} : { min }),
    ...(max === null ? {} : { max }),
    ...(contains === null ? {} : { contains }),
  }));
}
