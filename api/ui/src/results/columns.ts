import type { Manifest } from "../api/replies";
import type { ComparedItem } from "./item";

export const DEFAULT_COLUMN_COUNT = 4; // columns of properties, unless others are chosen
const MAX_SOURCE_DECIMALS = 4; // that somebody wrote: what was computed has more

/** One column of the table. */
export interface Column {
  key: string;
  title: string;
  isNumeric: boolean;
  /** What the API calls it where it is sorted by it. */
  apiName: string;
  value: (hit: ComparedItem) => unknown;
}

const SIMILARITY: Column = {
  key: "similarity",
  title: "Similarity",
  isNumeric: true,
  apiName: "similarity",
  value: (hit) => hit.similarity,
};
const NAME: Column = {
  key: "name",
  title: "Name",
  isNumeric: false,
  apiName: "names",
  value: (hit) => hit.item.names[0] ?? null,
};
const DEGREE: Column = {
  key: "neighbours",
  title: "Neighbours",
  isNumeric: true,
  apiName: "degree",
  value: (hit) => hit.item.degree,
};

export type PropertyKinds = Record<string, "number" | "text">;

/** The type of each property, and of the qualifiers of each with censored numbers, which come after it. */
export function kindsOf({ properties, qualifiers = {} }: Pick<Manifest, "properties" | "qualifiers">): PropertyKinds {
  const kinds: PropertyKinds = {};
  for (const [name, kind] of Object.entries(properties)) {
    kinds[name] = kind;
    const qualifier = qualifiers[name];
    if (qualifier !== undefined) kinds[qualifier] = "text";
  }
  return kinds;
}

/** Similarity where items are compared, name and neighbours, then the chosen properties; by default the first few. */
export function columnsOf(properties: PropertyKinds, selection: string[] | null, hasSimilarity = true): Column[] {
  const names = selection ?? Object.keys(properties).slice(0, DEFAULT_COLUMN_COUNT);
  const existing = names.filter((name) => Object.hasOwn(properties, name));
  const exportNameOf = exportNames(properties);
  return [
    ...(hasSimilarity ? [SIMILARITY] : []),
    NAME,
    DEGREE,
    ...existing.map((name) => ({
      key: `property:${name}`,
      title: name,
      isNumeric: properties[name] === "number",
      apiName: exportNameOf.get(name) ?? name,
      value: (hit: ComparedItem) => hit.item.properties[name] ?? null,
    })),
  ];
}

/** What exports and the API call each property: what is called as a column before it, or not at all, otherwise. */
export function exportNames(properties: PropertyKinds): Map<string, string> {
  const usedNames = new Set(["id", "smiles", "structure", "inchikey", "names"]);
  const exportNameOf = new Map<string, string>();
  for (const name of Object.keys(properties).sort()) {
    let title = name || "unnamed";
    while (usedNames.has(title)) title = `property.${title}`;
    usedNames.add(title);
    exportNameOf.set(name, title);
  }
  return exportNameOf;
}

/** What the API is asked to sort by: `-KEY` is descending; null for the list's own order. */
export function sortOrder(columns: Column[], sort: string | null): { by: string; descending: boolean } | null {
  const column = columns.find(({ key }) => key === sort?.replace(/^-/, ""));
  return column && sort ? { by: column.apiName, descending: sort.startsWith("-") } : null;
}

/** What a click on a column's title asks for: numbers largest first, texts from A; then the other way round. */
export function nextSort(column: Column, sort: string | null): string | null {
  const [firstSort, secondSort] = column.isNumeric ? [`-${column.key}`, column.key] : [column.key, `-${column.key}`];
  const next = (sort ?? "-similarity") === firstSort ? secondSort : firstSort;
  return next === "-similarity" ? null : next;
}

/** The property that a list is sorted by, if it is by one. */
export function sortProperty(sort: string | null): string | null {
  return /^-?property:(.*)$/s.exec(sort ?? "")?.[1] ?? null;
}

/**
 * How to write the values of a column: its numbers with as many decimals as each other, so that they align. These are
 * the source's, unless there are more than anybody writes.
 */
export function formatterOf(values: unknown[]): (value: unknown) => string {
  const numbers = values.filter((value) => typeof value === "number");
  const isInteger = numbers.every(Number.isInteger);
  const maxDecimals = numbers.reduce((longest, value) => Math.max(longest, countDecimals(value)), 0);
  const isSourcePrecision = maxDecimals <= MAX_SOURCE_DECIMALS;
  const isExtreme = !isSourcePrecision && numbers.some((value) => value !== 0 && (Math.abs(value) < 0.001 || Math.abs(value) >= 1e6));
  const decimals = isSourcePrecision ? maxDecimals : numbers.every((value) => Math.abs(value) <= 1) ? 3 : 2;
  return (value) => {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    if (isInteger) return value.toLocaleString("en");
    return isExtreme ? value.toExponential(2) : value.toFixed(decimals);
  };
}

/** Decimals of a number that is written the shortest way. */
function countDecimals(value: number): number {
  const text = String(value);
  return text.includes("e") ? Infinity : (text.split(".")[1]?.length ?? 0);
}

/** All of them so written. */
export function formatAll(values: unknown[]): string[] {
  return values.map(formatterOf(values));
}

/** Three decimals, rounded down: 1.000 is said of nothing but 1. */
export function similarityText(similarity: number): string {
  return (Math.floor(similarity * 1000 + 1e-6) / 1000).toFixed(3);
}
