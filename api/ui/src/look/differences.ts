import type { Item } from "../api/replies";
import { figure, figures, type PropertyKinds } from "./columns";

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
  asked: (string | null | undefined)[],
): { rows: Row[]; same: Row[] } {
  const names = Object.keys(properties);
  const first = new Set(asked.filter((name): name is string => typeof name === "string" && names.includes(name)));
  const [rows, same]: [Row[], Row[]] = [[], []];
  for (const name of new Set([...first, ...names])) {
    const values = [...(query ? [query] : []), other].map((item) => item.properties[name] ?? null);
    const row = { name, values: figures(values), difference: difference(values) };
    (query && values[0] === values[1] && !first.has(name) ? same : rows).push(row);
  }
  return { rows, same };
}

function difference([one, other]: unknown[]): string {
  if (typeof one !== "number" || typeof other !== "number") return "";
  const more = figure([one, other])(Math.abs(other - one));
  return other === one ? more : `${other > one ? "+" : "−"}${more}`;
}
