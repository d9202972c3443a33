import type { SimilarItem } from "../api/replies";

export const FIRST = 4; // columns of properties, unless others are chosen

/** One column of the table. */
export interface Column {
  key: string;
  title: string;
  numeric: boolean;
  value: (hit: SimilarItem) => unknown;
}

const SIMILARITY: Column = { key: "similarity", title: "Similarity", numeric: true, value: (hit) => hit.similarity };
const NAME: Column = { key: "name", title: "Name", numeric: false, value: (hit) => hit.item.names[0] ?? null };
const DEGREE: Column = { key: "neighbours", title: "Neighbours", numeric: true, value: (hit) => hit.item.degree };

export type PropertyKinds = Record<string, "number" | "text">;

/** Similarity, name and neighbours, then the chosen properties; by default the first few. */
export function columnsOf(properties: PropertyKinds, chosen: string[] | null): Column[] {
  const names = chosen ?? Object.keys(properties).slice(0, FIRST);
  const known = names.filter((name) => Object.hasOwn(properties, name));
  return [
    SIMILARITY,
    NAME,
    DEGREE,
    ...known.map((name) => ({
      key: `property:${name}`,
      title: name,
      numeric: properties[name] === "number",
      value: (hit: SimilarItem) => hit.item.properties[name] ?? null,
    })),
  ];
}

/** How a table is sorted: `-KEY` is descending, null by similarity. */
export function sorted(hits: SimilarItem[], columns: Column[], sort: string | null): SimilarItem[] {
  const column = columns.find(({ key }) => key === sort?.replace(/^-/, ""));
  if (column === undefined) return hits;
  const sign = sort?.startsWith("-") ? -1 : 1;
  const missing = (value: unknown) => value === null || value === undefined;
  return hits.toSorted((one, other) => {
    const [a, b] = [column.value(one), column.value(other)];
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b)); // what is missing comes last, always
    if (column.numeric) return sign * (Number(a) - Number(b));
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  });
}

/** What a click on a column's title asks for: numbers largest first, texts from A; then the other way round. */
export function resorted(column: Column, sort: string | null): string | null {
  const [first, second] = column.numeric ? [`-${column.key}`, column.key] : [column.key, `-${column.key}`];
  const next = (sort ?? "-similarity") === first ? second : first;
  return next === "-similarity" ? null : next;
}

/** A column as text, its numbers with as many decimals as each other, so that they align. */
export function figures(values: unknown[]): string[] {
  const numbers = values.filter((value) => typeof value === "number");
  const whole = numbers.every(Number.isInteger);
  const extreme = numbers.some((value) => value !== 0 && (Math.abs(value) < 0.001 || Math.abs(value) >= 1e6));
  const decimals = numbers.every((value) => Math.abs(value) <= 1) ? 3 : 2;
  return values.map((value) => {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    if (whole) return value.toLocaleString("en");
    return extreme ? value.toExponential(2) : value.toFixed(decimals);
  });
}

/** Three decimals, rounded down: 1.000 is said of nothing but 1. */
export function similarityText(similarity: number): string {
  return (Math.floor(similarity * 1000 + 1e-6) / 1000).toFixed(3);
}
