import type { Item } from "../api/replies";
import { formatterOf, formatAll, type ItemProperties } from "./columns";

/** One property of the query and of another item. */
export interface Row {
  name: string;
  /** Value of the query, if it is stored, and value of the other item. */
  values: string[];
  /** Difference of the other item to the query, with a sign; empty for values that are not numbers. */
  difference: string;
}

/**
 * Compare the properties of two items.
 *
 * Computed properties are compared only if the other item has their values. `rows` starts with the properties in `priorityNames`, followed by all that differ. `same` holds the equal ones.
 */
export function differences(
  properties: ItemProperties,
  query: Item | null,
  otherItem: Item,
  priorityNames: (string | null | undefined)[],
): { rows: Row[]; same: Row[] } {
  const names = Object.keys(properties).filter((name) => !properties[name]?.isComputed || Object.hasOwn(otherItem.properties, name));
  const priority = new Set(priorityNames.filter((name): name is string => typeof name === "string" && names.includes(name)));
  const [rows, same]: [Row[], Row[]] = [[], []];
  for (const name of new Set([...priority, ...names])) {
    const values = [...(query ? [query] : []), otherItem].map((item) => item.properties[name] ?? null);
    const row = { name: properties[name]!.title, values: formatAll(values), difference: difference(values) };
    (query && values[0] === values[1] && !priority.has(name) ? same : rows).push(row);
  }
  return { rows, same };
}

function difference([queryValue, otherValue]: unknown[]): string {
  if (typeof queryValue !== "number" || typeof otherValue !== "number") return "";
  const magnitude = formatterOf([queryValue, otherValue])(Math.abs(otherValue - queryValue));
  return otherValue === queryValue ? magnitude : `${otherValue > queryValue ? "+" : "−"}${magnitude}`;
}
