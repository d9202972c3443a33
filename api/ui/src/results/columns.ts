import { rollup } from "d3-array";
import type { CollectionDetail, ComputedColumns } from "../api/replies";
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

/** A property of items: a column of the source, or one that the server computes, such as a molecular descriptor. */
export interface ItemProperty {
  kind: "number" | "text";
  /** Text for people, with the unit of a computed property. */
  title: string;
  /** Name in exports and in the API. */
  apiName: string;
  isComputed: boolean;
}

/** Properties by key. The key of a property of the source is its name in the source. */
export type ItemProperties = Record<string, ItemProperty>;

type SourceProperties = Pick<CollectionDetail["manifest"], "properties" | "qualifiers">;

/** Titles of the properties that every ingest of molecules computes. */
const INGESTED_TITLES: Record<string, string> = { molwt: "Molecular weight (g/mol)", rings: "Rings", heavy_atoms: "Heavy atoms" };
/** A name that ends in a unit, such as `IC50_nM` and `Ki nM`. */
const NAME_WITH_UNIT = /^(.*[^_\s])[_\s]+([fpnuµμm]M|[pnuµμm]g\/m?L|g\/mol|k?Da|k(?:cal|J)\/mol|%|Å²?)$/u;

/** Return the title of a column of the source: `heavy_atoms` is `Heavy atoms`, and `IC50_nM` is `IC50 (nM)`. */
export function sourceTitle(name: string): string {
  if (Object.hasOwn(INGESTED_TITLES, name)) return INGESTED_TITLES[name]!;
  const [, quantity = name, unit = null] = NAME_WITH_UNIT.exec(name) ?? [];
  const words = quantity.replaceAll("_", " ").trim() || "(no name)";
  return unit === null ? words : `${words} (${unit.replace(/^[uμ]/u, "µ")})`;
}

const NOTHING_COMPUTED: ComputedColumns = { descriptors: [], activities: [] };
const ACTIVITY_NAME = /^pactivity\.[munp]?M\../;

/** Return the properties of the items of a collection: those of the source, then the computed ones. */
export function propertiesOf({ manifest, computed = NOTHING_COMPUTED }: { manifest: SourceProperties; computed?: ComputedColumns }): ItemProperties {
  const computedColumns = [
    ...computed.activities.map(({ name, label }) => ({ name, label, unit: null })),
    ...computed.descriptors.map(({ name, label, unit }) => ({ name, label, unit })),
  ];
  const properties = sourceProperties(manifest, new Set(computedColumns.map(({ name }) => name)));
  const sourceNames = new Set(Object.keys(properties));
  const usedTitles = new Set(Object.values(properties).map(({ title }) => title));
  for (const { name, label, unit } of computedColumns) {
    let key = name;
    while (sourceNames.has(key)) key = `computed.${key}`;
    const labelWithUnit = unit ? `${label} (${unit})` : label;
    const title = [labelWithUnit, `${labelWithUnit}, computed`, `${labelWithUnit}, ${name}`].find((text) => !usedTitles.has(text)) ?? key;
    usedTitles.add(title);
    properties[key] = { kind: "number", title, apiName: name, isComputed: true };
  }
  return properties;
}

/** Return the properties of the source. The qualifier of a property with censored values follows that property. */
function sourceProperties({ properties, qualifiers = {} }: SourceProperties, computedNames: Set<string>): ItemProperties {
  const kinds = Object.entries(properties).flatMap(([name, kind]): [string, ItemProperty["kind"]][] => {
    const qualifier = qualifiers[name];
    return qualifier === undefined ? [[name, kind]] : [[name, kind], [qualifier, "text"]];
  });
  const nameOf = exportNames(kinds.map(([name]) => name), computedNames);
  const countOf = rollup(kinds, (group) => group.length, ([name]) => sourceTitle(name));
  const titleOf = (name: string) => (countOf.get(sourceTitle(name)) === 1 ? sourceTitle(name) : name);
  return Object.fromEntries(kinds.map(([name, kind]) => [name, { kind, title: titleOf(name), apiName: nameOf.get(name) ?? name, isComputed: false }]));
}

/** Return the keys of the properties with numbers. */
export function numericKeys(properties: ItemProperties): string[] {
  return Object.keys(properties).filter((key) => properties[key]?.kind === "number");
}

/**
 * Return the key of the numeric property that a view shows: the selected one, or the first of the source; null if there
 * is none. A concentration, such as `Ki nM`, gives way to its negative logarithm `pKi`, whose differences and means say more.
 */
export function shownProperty(properties: ItemProperties, selectedKey: string | null): string | null {
  const keys = numericKeys(properties);
  const sourceKeys = keys.filter((key) => !properties[key]?.isComputed);
  const first = sourceKeys[0];
  const logarithm = first === undefined ? undefined : sourceKeys.find((key) => key === `p${first.split(" ")[0]}`);
  return keys.find((key) => key === selectedKey) ?? logarithm ?? first ?? null;
}

/** Return the keys of the columns that a table shows: the selected ones that exist, or the first few of the source. */
export function shownKeys(properties: ItemProperties, selectedKeys: string[] | null): string[] {
  const sourceKeys = Object.keys(properties).filter((key) => !properties[key]?.isComputed);
  return selectedKeys?.filter((key) => Object.hasOwn(properties, key)) ?? sourceKeys.slice(0, DEFAULT_COLUMN_COUNT);
}

/** Return the keys of the columns that a table shows if it also shows one key, null for none. Other keys are ignored. */
export function keysWith(properties: ItemProperties, selectedKeys: string[] | null, key: string | null): string[] | null {
  const keys = shownKeys(properties, selectedKeys);
  return key === null || !Object.hasOwn(properties, key) || keys.includes(key) ? selectedKeys : [...keys, key];
}

/** Return the computed properties among some keys. Null keys are ignored. */
export function computedAmong(properties: ItemProperties, keys: (string | null)[]): ItemProperties {
  const computedKeys = keys.filter((key): key is string => key !== null && properties[key]?.isComputed === true);
  return Object.fromEntries(computedKeys.map((key) => [key, properties[key]!]));
}

/**
 * Return the columns of an export that also has the selected computed ones; null, which stands for all columns of the
 * source, if none is selected.
 */
export function exportColumns({ manifest, computed }: CollectionDetail, selectedKeys: string[] | null, hasSimilarity = false): string[] | null {
  const properties = propertiesOf({ manifest, computed });
  const selected = Object.values(computedAmong(properties, selectedKeys ?? []));
  if (selected.length === 0) return null;
  const ownColumns = ["id", manifest.structure, "names", ...(manifest.recipe.inchikey ? ["inchikey"] : []), ...(hasSimilarity ? ["similarity"] : [])];
  const sourceColumns = Object.values(properties).filter(({ isComputed }) => !isComputed);
  const sourceTitles = sourceColumns.map(({ apiName }) => (ownColumns.includes(apiName) ? `property.${apiName}` : apiName));
  return [...ownColumns, ...sourceTitles, ...selected.map(({ apiName }) => apiName)];
}

/**
 * Return the columns: similarity if items are compared, name, neighbors, and the selected or the first few
 * properties.
 */
export function columnsOf(properties: ItemProperties, selectedKeys: string[] | null, hasSimilarity = true): Column[] {
  return [
    ...(hasSimilarity ? [SIMILARITY] : []),
    NAME,
    DEGREE,
    ...shownKeys(properties, selectedKeys).map((key) => ({
      key: `property:${key}`,
      title: properties[key]!.title,
      isNumeric: properties[key]!.kind === "number",
      apiName: properties[key]!.apiName,
      value: (hit: ComparedItem) => hit.item.properties[key] ?? null,
    })),
  ];
}

/**
 * Return the name of each property of the source in exports and in the API. A property without a name, or with the
 * name of another column, gets a different one.
 */
function exportNames(names: string[], computedNames: Set<string>): Map<string, string> {
  const usedNames = new Set(["id", "smiles", "structure", "inchikey", "names", ...names.filter((name) => computedNames.has(name) || ACTIVITY_NAME.test(name))]);
  const exportNameOf = new Map<string, string>();
  for (const name of [...names].sort()) {
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
