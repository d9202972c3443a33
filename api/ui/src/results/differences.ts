import type { Item } from "../api/replies";
import { formatterOf, formatAll, type PropertyKinds } from "./columns";

/** A property of two items. */
export interface Row {
  name: string;
  /** Of the first, if there is one, and of the other. */
  values: string[];
  /** What the other has more, with its sign; empty where they have no numbers. */
  difference: string;
}

/** The properties of two items: those `asked` for in front, then the rest that differs; and what is the same. */
export function differences(
  properties: PropertyKinds,
  query: Item | null,
  other: Item,
  priorityNames: (string | null | undefined)[],
): { rows: Row[]; same: Row[] } {
  const names = Object.keys(properties);
  const priority = new Set(priorityNames.filter((name): name is string => typeof name === "string" && names.includes(name)));
  const [rows, same]: [Row[], Row[]] = [[], []];
  for (const name of new Set([...priority, ...names])) {
    const values = [...(query ? [query] : []), other].map((item) => item.properties[name] ?? null);
    const row = { name, values: formatAll(values), difference: difference(values) };
    (query && values[0] === values[1] && !priority.has(name) ? same : rows).push(row);
  }
  return { rows, same };
}

function difference([first, other]: unknown[]): string {
  if (typeof first !== "number" || typeof other !== "number") return "";
  const magnitude = formatterOf([first, other])(Math.abs(other - first));
  return other === first ? magnitude : `${other > first ? "+" : "−"}${magnitude}`;
}
