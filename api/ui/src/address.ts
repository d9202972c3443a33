import { type Condition, parsed, written } from "./filter/conditions";

/** What the page's address says: every state that can be sent to a colleague. */
export interface Address {
  collection: string | null;
  /** What to look at where there is no query. */
  part: Part;
  /** SMILES in a collection of molecules, a name in others; `#id` where neither tells items apart. */
  q: string | null;
  /** Ids and edges belong to a generation; null is the current one. */
  generation: string | null;
  minSimilarity: number | null;
  /** Of activity cliffs; null is 1. */
  maxSimilarity: number | null;
  /** Compare with the whole collection, also where the hierarchy has an answer. */
  exact: boolean;
  /** What items pass, all of it. */
  filters: Condition[];
  /** How one of their names begins. */
  name: string | null;
  /** What they have in them. */
  substructure: Substructure | null;
  /** Which items, as the basket writes them; null is what the browser collected. */
  basket: string | null;
  view: View;
  /** A column, after `-` if descending; null is by similarity, else by id. */
  sort: string | null;
  /** Columns of properties; null is the first few. */
  columns: string[] | null;
  /** How often more was asked for, and once. */
  pages: number;
  /** What pictures show of what they have in common with the query. */
  mark: Mark;
  /** Items whose neighbours the graph shows too, in the order in which they were asked for. */
  expanded: string[];
  /** An item of the cluster that is shown, or that the tree begins with; null is all clusters. */
  cluster: string | null;
  /** The item that is compared with the query, as `exactly` says it. */
  chosen: string | null;
  /** How items are clustered. */
  method: Method;
  /** What cliffs differ in, and how steep they are; and of which clusters' range is told. */
  property: string | null;
  by: Steepness;
  /** How a trainer draws positives. */
  policy: Policy;
  /** Of that draw. */
  seed: number;
  /** The property that colours the graph; null is by component. */
  colour: string | null;
  /** The ends of a path. */
  from: string | null;
  to: string | null;
}

const MOST_PAGES = 50; // that an address brings at once
const MOST_EXPANDED = 1000;

const PARTS = ["find", "items", "list", "basket", "clusters", "cliffs", "map", "tree", "collection"] as const;
export type Part = (typeof PARTS)[number];

const VIEWS = ["table", "tiles", "graph", "positives", "compare"] as const;
export type View = (typeof VIEWS)[number];

/** A pattern as it was typed, or a molecule as it was drawn. */
export type Substructure = { smarts: string } | { smiles: string };

export const MARKS = ["differences", "shared", "nothing"] as const;
export type Mark = (typeof MARKS)[number];

export const METHODS = ["butina", "scaffold", "single"] as const;
export type Method = (typeof METHODS)[number];

const STEEPNESSES = ["difference", "sali"] as const;
export type Steepness = (typeof STEEPNESSES)[number];

export const POLICIES = ["random_walk", "first_order", "second_order"] as const;
export type Policy = (typeof POLICIES)[number];

/** The words that each of these parameters may be. */
export const KNOWN: Record<string, readonly string[]> = {
  part: PARTS,
  view: VIEWS,
  mark: MARKS,
  method: METHODS,
  by: STEEPNESSES,
  policy: POLICIES,
};

export const START: Address = {
  collection: null,
  part: "find",
  q: null,
  generation: null,
  minSimilarity: null,
  maxSimilarity: null,
  exact: false,
  filters: [],
  name: null,
  substructure: null,
  basket: null,
  view: "table",
  sort: null,
  columns: null,
  pages: 1,
  mark: "differences",
  expanded: [],
  cluster: null,
  chosen: null,
  method: "butina",
  property: null,
  by: "difference",
  policy: "random_walk",
  seed: 0,
  colour: null,
  from: null,
  to: null,
};

/**
 * Another query takes nothing along of what was looked at around the one before, nor thresholds and filters; another list
 * none of the pages of the one before.
 */
export function changed(address: Address, change: Partial<Address>): Address {
  const { part, expanded, cluster, chosen, seed, from, to, pages, basket } = START;
  const { minSimilarity, maxSimilarity, exact, filters, name, substructure } = START;
  const next = { ...address, ...change };
  const limits = elsewhere(address, next) ? { minSimilarity, maxSimilarity, exact, filters, name, substructure, basket } : {};
  const around = differ(address, next, "q") ? { part, expanded, cluster, chosen, seed, from, to } : {};
  return { ...address, ...limits, ...around, ...(relisted(address, next) ? { pages } : {}), ...change };
}

/** Whether it is about something else. */
export function elsewhere(one: Address, other: Address): boolean {
  return differ(one, other, "collection", "q", "part", "cluster");
}

/** Whether it lists something else, or in another order. */
export function relisted(one: Address, other: Address): boolean {
  const limits = ["minSimilarity", "maxSimilarity", "exact", "filters", "name", "substructure"] as const;
  return elsewhere(one, other) || differ(one, other, ...limits, "sort", "property", "by", "method");
}

function differ(one: Address, other: Address, ...names: (keyof Address)[]): boolean {
  return names.some((name) => one[name] !== other[name]);
}

/** `next` with the very lists of `before` where they say the same: who goes by one then sees that it did not change. */
export function alike(next: Address, before: Address): Address {
  const same = <List>(one: List, other: List): List => (JSON.stringify(one) === JSON.stringify(other) ? other : one);
  const { expanded, columns, filters, substructure } = before;
  return {
    ...next,
    expanded: same(next.expanded, expanded),
    columns: same(next.columns, columns),
    filters: same(next.filters, filters),
    substructure: same(next.substructure, substructure),
  };
}

export function parse(text: string): Address {
  const [search, hash] = text.split("#", 2);
  const given = new URLSearchParams(search);
  return {
    collection: given.get("collection") || null,
    part: PARTS.find((part) => part === given.get("part")) ?? START.part,
    q: given.get("q") || null,
    generation: given.get("generation") || null,
    minSimilarity: similarity(given.get("min_similarity")),
    maxSimilarity: similarity(given.get("max_similarity")),
    exact: given.get("exact") === "1",
    filters: given.getAll("filter").flatMap(parsed),
    name: given.get("name") || null,
    substructure: substructure(given.get("smarts"), given.get("drawn")),
    basket: new URLSearchParams(hash).get("basket"),
    view: VIEWS.find((view) => view === given.get("view")) ?? START.view,
    sort: given.get("sort") || null,
    columns: given.has("column") ? given.getAll("column").filter(Boolean) : null,
    pages: Math.min(natural(given.get("pages")) || START.pages, MOST_PAGES),
    mark: MARKS.find((mark) => mark === given.get("mark")) ?? START.mark,
    expanded: given.getAll("expand").filter(Boolean).slice(0, MOST_EXPANDED),
    cluster: given.get("cluster") || null,
    chosen: given.get("chosen") || null,
    method: METHODS.find((method) => method === given.get("method")) ?? START.method,
    property: given.get("property") || null,
    by: STEEPNESSES.find((by) => by === given.get("by")) ?? START.by,
    policy: POLICIES.find((policy) => policy === given.get("policy")) ?? START.policy,
    seed: natural(given.get("seed")) ?? START.seed,
    colour: given.get("colour") || null,
    from: given.get("from") || null,
    to: given.get("to") || null,
  };
}

/** The shortest that `parse` reads as this address. What may be long is no part of what is sent to the server. */
export function format(address: Address): string {
  const said = new URLSearchParams();
  if (address.collection) said.set("collection", address.collection);
  if (address.part !== START.part) said.set("part", address.part);
  if (address.q) said.set("q", address.q);
  if (address.minSimilarity !== null) said.set("min_similarity", String(address.minSimilarity));
  if (address.maxSimilarity !== null) said.set("max_similarity", String(address.maxSimilarity));
  if (address.exact) said.set("exact", "1");
  address.filters.forEach((condition) => said.append("filter", written(condition)));
  if (address.name) said.set("name", address.name);
  if (address.substructure && "smarts" in address.substructure) said.set("smarts", address.substructure.smarts);
  else if (address.substructure) said.set("drawn", address.substructure.smiles);
  if (address.view !== START.view) said.set("view", address.view);
  if (address.sort) said.set("sort", address.sort);
  if (address.columns?.length === 0) said.set("column", "");
  address.columns?.forEach((column) => said.append("column", column));
  if (address.pages !== START.pages) said.set("pages", String(address.pages));
  if (address.mark !== START.mark) said.set("mark", address.mark);
  address.expanded.forEach((item) => said.append("expand", item));
  if (address.cluster) said.set("cluster", address.cluster);
  if (address.chosen) said.set("chosen", address.chosen);
  if (address.method !== START.method) said.set("method", address.method);
  if (address.property) said.set("property", address.property);
  if (address.by !== START.by) said.set("by", address.by);
  if (address.policy !== START.policy) said.set("policy", address.policy);
  if (address.seed !== START.seed) said.set("seed", String(address.seed));
  if (address.colour) said.set("colour", address.colour);
  if (address.from) said.set("from", address.from);
  if (address.to) said.set("to", address.to);
  if (address.generation) said.set("generation", address.generation);
  const text = said.toString();
  return (text ? `?${text}` : "") + (address.basket === null ? "" : `#basket=${address.basket}`);
}

function substructure(smarts: string | null, smiles: string | null): Substructure | null {
  if (smarts) return { smarts };
  return smiles ? { smiles } : null;
}

function natural(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function similarity(text: string | null): number | null {
  const value = Number(text);
  return text !== null && value > 0 && value <= 1 ? value : null;
}
