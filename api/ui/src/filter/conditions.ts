import type { components } from "../api/openapi";
import { titles, type PropertyKinds } from "../look/columns";

/** What items pass of one property: a range of numbers, open where null, or a part of a text in any case. */
export interface Condition {
  property: string;
  min: number | null;
  max: number | null;
  contains: string | null;
}

type Filter = components["schemas"]["Filter"];

/** How the address says one: `["log P",1,null]`, `["class","acid"]`. */
export function written({ property, min, max, contains }: Condition): string {
  return JSON.stringify(contains === null ? [property, min, max] : [property, contains]);
}

/** What the address says; none where it says nothing that can be asked. */
export function parsed(text: string): Condition[] {
  const said = fromJson(text);
  if (!Array.isArray(said) || typeof said[0] !== "string") return [];
  const [property, one, other] = said as [string, unknown, unknown];
  if (said.length === 2 && typeof one === "string" && one !== "") return [{ property, min: null, max: null, contains: one }];
  const bound = (value: unknown) => typeof value === "number" || value === null;
  if (said.length !== 3 || !bound(one) || !bound(other)) return [];
  if (one === null && other === null) return [];
  return [{ property, min: one as number | null, max: other as number | null, contains: null }];
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Nothing asked of it yet. */
export function empty({ min, max, contains }: Condition): boolean {
  return min === null && max === null && !contains;
}

/** As the API takes them, for which properties are called as exports call them. */
export function asked(conditions: Condition[], properties: PropertyKinds): Filter[] {
  const called = titles(properties);
  return conditions.map(({ property, min, max, contains }) => ({
    property: called.get(property) ?? property,
    ...(min === null ? {} : { min }),
    ...(max === null ? {} : { max }),
    ...(contains === null ? {} : { contains }),
  }));
}
