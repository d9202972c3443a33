import type { Manifest } from "../api/replies";
import type { ComparedItem } from "./item";

/** Number of property columns that are shown by default. */
export const DEFAULT_COLUMN_COUNT = 4;
const MAX_SOURCE_DECIMALS = 4; // Values with more decimals were computed, not typed.

/** A column of the table. */
export interface Column {
  key: string;
  title: string;
  isNumeric: boolean;
  /** Name that the API sorts by. */
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
  title: "Neighbors",
  isNumeric: true,
  apiName: "degree",
  value: (hit) => hit.item.degree,
};

/** Whether the values of each property are numbers or texts. */
export type PropertyKinds = Record<string, "number" | "text">;

/** Return the type of each property. The qualifier of a property with censored values follows that property. */
export function kindsOf({ properties, qualifiers = {} }: Pick<Manifest, "properties" | "qualifiers">): PropertyKinds {
  const kinds: PropertyKinds = {};
  for (const [name, kind] of Object.entries(properties)) {
    kinds[name] = kind;
    const qualifier = qualifiers[name];
    if (qualifier !== undefined) kinds[qualifier] = "text";
  }
  return kinds;
}

/**
 * Return the columns: similarity if items are compared, name, neighbors, and the selected or the first few
 * properties.
 */
export function columnsOf(properties: PropertyKinds, selectedNames: string[] | null, hasSimilarity = true): Column[] {
  const names = selectedNames ?? Object.keys(properties).slice(0, DEFAULT_COLUMN_COUNT);
  const existingNames = names.filter((name) => Object.hasOwn(properties, name));
  const exportNameOf = exportNames(properties);
  return [
    ...(hasSimilarity ? [SIMILARITY] : []),
    NAME,
    DEGREE,
    ...existingNames.map((name) => ({
      key: `property:${name}`,
      title: name,
      isNumeric: properties[name] === "number",
      apiName: exportNameOf.get(name) ?? name,
      value: (hit: ComparedItem) => hit.item.properties[name] ?? null,
    })),
  ];
}

/**
 * Return the name of each property in exports and in the API. A property without a name, or with the name of another
 * column, gets a different one.
 */
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

/**
 * Return the order that the API sorts by; null for the list's own order. A leading `-` of `sort` means descending.
 */
export function sortOrder(columns: Column[], sort: string | null): { by: string; descending: boolean } | null {
  const column = columns.find(({ key }) => key === sort?.replace(/^-/, ""));
  return column && sort ? { by: column.apiName, descending: sort.startsWith("-") } : null;
}

/**
 * Return the sort key after a click on a column title. Numbers start with the largest and texts with A; the next
 * click reverses the order.
 */
export function nextSort(column: Column, sort: string | null): string | null {
  const [firstSort, secondSort] = column.isNumeric ? [`-${column.key}`, column.key] : [column.key, `-${column.key}`];
  const next = (sort ?? "-similarity") === firstSort ? secondSort : firstSort;
  return next === "-similarity" ? null : next;
}

/** Return the property that a list is sorted by; null if it is sorted by something else. */
export function sortProperty(sort: string | null): string | null {
  return /^-?property:(.*)$/s.exec(sort ?? "")?.[1] ?? null;
}

/**
 * Return a function that formats the values of a column.
 *
 * All numbers get the same number of decimals, so that they align: those of the source, unless it has more than
 * anyone types.
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

/** Count the decimals of the shortest text of a number. */
function countDecimals(value: number): number {
  const text = String(value);
  return text.includes("e") ? Infinity : (text.split(".")[1]?.length ?? 0);
}

/** Format the values of a column. */
export function formatAll(values: unknown[]): string[] {
  return values.map(formatterOf(values));
}

/** Format a similarity with three decimals, rounded down, so that only exactly 1 is written as 1.000. */
export function similarityText(similarity: number): string {
  return (Math.floor(similarity * 1000 + 1e-6) / 1000).toFixed(3);
}
