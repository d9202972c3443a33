import { type Condition, parseCondition, formatCondition } from "./filter/conditions";
import { type ScaleType, SCALE_TYPES } from "./plots/scaleType";
import type { Relation } from "./api/replies";
import { type GroupCondition, parseGroupCondition, formatGroupCondition } from "./rgroups/groupConditions";

/** State of the page, as its address (URL) holds it. Whatever a user may want to send to a colleague is here. */
export interface Address {
  collection: string | null;
  /** Part of the page that is shown while there is no query. */
  part: Part;
  /**
   * The query: a SMILES in collections of molecules, a name in other collections, or `#id` where neither is unique.
   */
  q: string | null;
  /** Generation that ids and edges refer to; null is the current generation. */
  generation: string | null;
  /** Earlier generation whose clusters are compared with those of the displayed one; null shows the clusters. */
  earlierGeneration: string | null;
  minSimilarity: number | null;
  /** Largest similarity of activity cliffs; null means 1. */
  maxSimilarity: number | null;
  /** Whether to compare with the whole collection even if the similarity graph holds the answer. */
  exact: boolean;
  /** Conditions on properties. An item must satisfy all of them. */
  filters: Condition[];
  /** Prefix of one of the item's names. */
  name: string | null;
  /** Substructure that the item contains. */
  substructure: Substructure | null;
  /** SMILES of the Bemis-Murcko scaffold that the items have; empty for items without rings, null for all items. */
  scaffold: string | null;
  /** Encoded ids of the only items that count; null for all items. In the part `basket`, null means the current list. */
  onlyIds: string | null;
  /** Name of the list with these ids; null if it has none. */
  listName: string | null;
  view: View;
  /** Key of the column to sort by, with a leading `-` for descending; null sorts by similarity, else by id. */
  sort: string | null;
  /** Properties shown as columns; null means the default columns. */
  columns: string[] | null;
  /** Number of pages loaded, at least 1. */
  pages: number;
  /** What depictions highlight in comparison with the query. */
  mark: Mark;
  /** Items whose neighbors the graph includes too, in the order of expansion. */
  expandedItems: string[];
  /** An item of the displayed cluster, or of the cluster at the root of the tree; null means all clusters. */
  cluster: string | null;
  /** The item compared with the query, as `exactAddressOf` writes it. */
  selectedItem: string | null;
  /** Clustering method. */
  method: Method;
  /** Property that cliffs and matched pairs differ in, whose range clusters and scaffolds report, or that colors an R-group table. */
  property: string | null;
  /** Measure by which cliffs are ranked. */
  steepness: Steepness;
  /** Scaffolds whose branches of the scaffold tree are open, as SMILES. */
  branches: string[];
  /** Core of an R-group table as SMARTS or SMILES; null means the maximum common substructure. */
  core: string | null;
  /** R groups that the rows of an R-group table must have. */
  groups: GroupCondition[];
  /** Positions in the rows and columns of an R-group matrix; null means the first two. */
  axes: [string, string] | null;
  /** Least number of matched pairs of a transformation, or of items in a cluster; null means the default. */
  minCount: number | null;
  /** Whether the transformations that can be applied to the query raise or lower the property. */
  change: Change;
  /** Transformation whose matched pairs are shown, as `FROM>>TO`; null lists all transformations. */
  transformation: string | null;
  /** Sampling policy of positives. */
  policy: Policy;
  /** Seed of that sample. */
  seed: number;
  /** Property that colors the graph, the map and a scatter plot; null colors the graph by component and the map by cluster. */
  color: string | null;
  /** Kind of the plot. */
  plot: PlotKind;
  /** Properties on the axes of a plot; null means the first properties. */
  x: string | null;
  y: string | null;
  /** Scales of these axes; null means the ones that suit the values. */
  xScale: ScaleType | null;
  yScale: ScaleType | null;
  /** Outline of the lasso on the map, as `map/lasso` writes it; null without one. */
  lasso: string | null;
  /** Collection that is compared with this one; null until the user chooses one. */
  other: string | null;
  /** Relation that compared items have to the collection; null for all items. */
  relation: Relation | null;
  /** Ends of a path through the graph. */
  from: string | null;
  to: string | null;
  /** Job of the server whose progress is shown; null if the part `upload` shows no job. */
  job: string | null;
}

const MAX_PAGES = 50; // Limits how many pages opening an address may load.
const MAX_EXPANDED = 1000;

const PARTS = ["find", "items", "list", "basket", "plot", "clusters", "cliffs", "rgroups", "scaffolds", "pairs", "map", "tree", "compare", "collection", "upload"] as const;
/**
 * A part of the page: `find` is the start page, `plot` shows the items as a plot, `rgroups` is an R-group table, `scaffolds` is the scaffold tree of a
 * series, `pairs` are matched pairs, `compare` compares two collections, `collection` describes the collection, and `upload` makes or changes one.
 */
export type Part = (typeof PARTS)[number];

const VIEWS = ["table", "tiles", "graph", "positives", "pairs", "compare", "matrix", "contributions"] as const;
/** A view of a list of items. */
export type View = (typeof VIEWS)[number];

/** A substructure: a SMARTS pattern that was typed, or the SMILES of a drawn molecule. */
export type Substructure = { smarts: string } | { smiles: string };

const PLOT_KINDS = ["scatter", "histogram", "box", "pairs"] as const;
/** A kind of plot: `box` shows a property by cluster, `pairs` shows the difference of a property by similarity. */
export type PlotKind = (typeof PLOT_KINDS)[number];

/** What depictions highlight in comparison with the query. */
export const MARKS = ["differences", "shared", "nothing"] as const;
export type Mark = (typeof MARKS)[number];

/** Clustering methods: Taylor-Butina, Bemis-Murcko scaffolds, single linkage. */
export const METHODS = ["butina", "scaffold", "single"] as const;
export type Method = (typeof METHODS)[number];

const STEEPNESSES = ["difference", "sali"] as const;
/** How activity cliffs are ranked: by the difference, or by the structure-activity landscape index (SALI). */
export type Steepness = (typeof STEEPNESSES)[number];

const CHANGES = ["raise", "lower"] as const;
/** How a transformation changes a property on average. */
export type Change = (typeof CHANGES)[number];

const RELATIONS = ["identical", "near duplicate", "novel"] as const;

/** Sampling policies of positives. */
export const POLICIES = ["random_walk", "first_order", "second_order"] as const;
export type Policy = (typeof POLICIES)[number];

/** Accepted values of each parameter that is a choice. */
export const CHOICES: Record<string, readonly string[]> = {
  part: PARTS,
  view: VIEWS,
  mark: MARKS,
  method: METHODS,
  by: STEEPNESSES,
  change: CHANGES,
  policy: POLICIES,
  plot: PLOT_KINDS,
  relation: RELATIONS,
  x_scale: SCALE_TYPES,
  y_scale: SCALE_TYPES,
};

/** Address of the start page. */
export const DEFAULT_ADDRESS: Address = {
  collection: null,
  part: "find",
  q: null,
  generation: null,
  earlierGeneration: null,
  minSimilarity: null,
  maxSimilarity: null,
  exact: false,
  filters: [],
  name: null,
  substructure: null,
  scaffold: null,
  onlyIds: null,
  listName: null,
  view: "table",
  sort: null,
  columns: null,
  pages: 1,
  mark: "differences",
  expandedItems: [],
  cluster: null,
  selectedItem: null,
  method: "butina",
  property: null,
  steepness: "difference",
  branches: [],
  core: null,
  groups: [],
  axes: null,
  minCount: null,
  change: "raise",
  transformation: null,
  policy: "random_walk",
  seed: 0,
  color: null,
  plot: "scatter",
  x: null,
  y: null,
  xScale: null,
  yScale: null,
  lasso: null,
  other: null,
  relation: null,
  from: null,
  to: null,
  job: null,
};

/** The part of an address that limits all views to some items. */
export const NO_FILTERS = { filters: [], name: null, substructure: null, scaffold: null, onlyIds: null, listName: null } satisfies Partial<Address>;

/**
 * Apply a change to an address.
 *
 * A new query resets everything that belongs to the previous one, including thresholds and filters. Filters stay while
 * the user moves between parts of the page. A new list starts again at its first page. Another core or filter may number
 * the positions of an R-group table differently, so it resets what names them.
 */
export function withChange(address: Address, change: Partial<Address>): Address {
  const { part, earlierGeneration, expandedItems, cluster, transformation, selectedItem, seed, lasso, from, to, pages, job } = DEFAULT_ADDRESS;
  const { minSimilarity, maxSimilarity, exact, branches, core, groups, axes, other, relation } = DEFAULT_ADDRESS;
  const next = { ...address, ...change };
  const subjectDefaults = showsOtherSubject(address, next) ? { minSimilarity, maxSimilarity, exact, branches, core } : {};
  const filterDefaults = differIn(address, next, "collection", "q") ? NO_FILTERS : {};
  const positionDefaults = showsOtherPositions(address, next) ? { groups, axes } : {};
  const queryDefaults = differIn(address, next, "q") ? { part, expandedItems, cluster, transformation, selectedItem, seed, from, to } : {};
  const partDefaults = differIn(address, next, "collection", "q", "part") ? { earlierGeneration, lasso, job, other, relation } : {};
  return { ...address, ...subjectDefaults, ...filterDefaults, ...positionDefaults, ...partDefaults, ...queryDefaults, ...(showsOtherList(address, next) ? { pages } : {}), ...change };
}

/** Whether two addresses differ in their collection, query, part, cluster or transformation. */
export function showsOtherSubject(a: Address, b: Address): boolean {
  return differIn(a, b, "collection", "q", "part", "cluster", "transformation");
}

/** Whether the R-group tables of two addresses may have different positions. */
function showsOtherPositions(a: Address, b: Address): boolean {
  return showsOtherSubject(a, b) || differIn(a, b, "core", "filters", "name", "substructure", "scaffold", "onlyIds", "minSimilarity", "method");
}

/** Whether two addresses list different items, or list them in a different order. */
export function showsOtherList(a: Address, b: Address): boolean {
  const limits = ["minSimilarity", "maxSimilarity", "exact", "filters", "name", "substructure", "scaffold", "onlyIds"] as const;
  return showsOtherSubject(a, b) || differIn(a, b, ...limits, "sort", "property", "steepness", "minCount", "change", "method", "earlierGeneration", "other", "relation");
}

function differIn(a: Address, b: Address, ...names: (keyof Address)[]): boolean {
  return names.some((name) => a[name] !== b[name]);
}

/**
 * Return `next` with the lists and objects of `before` where their contents are equal.
 *
 * Effects that depend on such a list then do not run again.
 */
export function reuseLists(next: Address, before: Address): Address {
  const reuse = <ResultList>(a: ResultList, b: ResultList): ResultList => (JSON.stringify(a) === JSON.stringify(b) ? b : a);
  const { expandedItems, columns, filters, substructure, branches, groups, axes } = before;
  return {
    ...next,
    expandedItems: reuse(next.expandedItems, expandedItems),
    columns: reuse(next.columns, columns),
    filters: reuse(next.filters, filters),
    substructure: reuse(next.substructure, substructure),
    branches: reuse(next.branches, branches),
    groups: reuse(next.groups, groups),
    axes: reuse(next.axes, axes),
  };
}

/** Parse a URL's search and fragment. Missing and invalid parameters take their default values. */
export function parse(text: string): Address {
  const [search, hash] = text.split("#", 2);
  const parameters = new URLSearchParams(search);
  const fragment = new URLSearchParams(hash);
  return {
    collection: parameters.get("collection") || null,
    part: PARTS.find((part) => part === parameters.get("part")) ?? DEFAULT_ADDRESS.part,
    q: parameters.get("q") || null,
    generation: parameters.get("generation") || null,
    earlierGeneration: parameters.get("before") || null,
    minSimilarity: parseSimilarity(parameters.get("min_similarity")),
    maxSimilarity: parseSimilarity(parameters.get("max_similarity")),
    exact: parameters.get("exact") === "1",
    filters: parameters.getAll("filter").flatMap(parseCondition),
    name: parameters.get("name") || null,
    substructure: substructure(parameters.get("smarts"), parameters.get("drawn")),
    scaffold: parameters.get("scaffold"),
    onlyIds: fragment.get("basket"),
    listName: fragment.get("list") || null,
    view: VIEWS.find((view) => view === parameters.get("view")) ?? DEFAULT_ADDRESS.view,
    sort: parameters.get("sort") || null,
    columns: parameters.has("column") ? parameters.getAll("column").filter(Boolean) : null,
    pages: Math.min(parseNatural(parameters.get("pages")) || DEFAULT_ADDRESS.pages, MAX_PAGES),
    mark: MARKS.find((mark) => mark === parameters.get("mark")) ?? DEFAULT_ADDRESS.mark,
    expandedItems: parameters.getAll("expand").filter(Boolean).slice(0, MAX_EXPANDED),
    cluster: parameters.get("cluster") || null,
    selectedItem: parameters.get("chosen") || null,
    method: METHODS.find((method) => method === parameters.get("method")) ?? DEFAULT_ADDRESS.method,
    property: parameters.get("property") || null,
    steepness: STEEPNESSES.find((steepness) => steepness === parameters.get("by")) ?? DEFAULT_ADDRESS.steepness,
    branches: parameters.getAll("branch").filter(Boolean).slice(0, MAX_EXPANDED),
    core: parameters.get("core") || null,
    groups: parameters.getAll("group").flatMap(parseGroupCondition),
    axes: parseAxes(parameters.get("axes")),
    minCount: parseNatural(parameters.get("min_count")) || DEFAULT_ADDRESS.minCount,
    change: CHANGES.find((change) => change === parameters.get("change")) ?? DEFAULT_ADDRESS.change,
    transformation: parameters.get("transformation") || null,
    policy: POLICIES.find((policy) => policy === parameters.get("policy")) ?? DEFAULT_ADDRESS.policy,
    seed: parseNatural(parameters.get("seed")) ?? DEFAULT_ADDRESS.seed,
    color: parameters.get("colour") || null,
    plot: PLOT_KINDS.find((plot) => plot === parameters.get("plot")) ?? DEFAULT_ADDRESS.plot,
    x: parameters.get("x") || null,
    y: parameters.get("y") || null,
    xScale: SCALE_TYPES.find((scale) => scale === parameters.get("x_scale")) ?? null,
    yScale: SCALE_TYPES.find((scale) => scale === parameters.get("y_scale")) ?? null,
    lasso: parameters.get("lasso") || null,
    other: parameters.get("other") || null,
    relation: RELATIONS.find((relation) => relation === parameters.get("relation")) ?? null,
    from: parameters.get("from") || null,
    to: parameters.get("to") || null,
    job: parameters.get("job") || null,
  };
}

/**
 * Format the shortest URL that `parse` reads as this address.
 *
 * A list may be long, so it goes into the fragment, which browsers do not send to the server. There it is called
 * `basket`, as in links of earlier versions.
 */
export function format(address: Address): string {
  const parameters = new URLSearchParams();
  if (address.collection) parameters.set("collection", address.collection);
  if (address.part !== DEFAULT_ADDRESS.part) parameters.set("part", address.part);
  if (address.q) parameters.set("q", address.q);
  if (address.minSimilarity !== null) parameters.set("min_similarity", String(address.minSimilarity));
  if (address.maxSimilarity !== null) parameters.set("max_similarity", String(address.maxSimilarity));
  if (address.exact) parameters.set("exact", "1");
  address.filters.forEach((condition) => parameters.append("filter", formatCondition(condition)));
  if (address.name) parameters.set("name", address.name);
  if (address.substructure && "smarts" in address.substructure) parameters.set("smarts", address.substructure.smarts);
  else if (address.substructure) parameters.set("drawn", address.substructure.smiles);
  if (address.scaffold !== null) parameters.set("scaffold", address.scaffold);
  if (address.view !== DEFAULT_ADDRESS.view) parameters.set("view", address.view);
  if (address.sort) parameters.set("sort", address.sort);
  if (address.columns?.length === 0) parameters.set("column", "");
  address.columns?.forEach((column) => parameters.append("column", column));
  if (address.pages !== DEFAULT_ADDRESS.pages) parameters.set("pages", String(address.pages));
  if (address.mark !== DEFAULT_ADDRESS.mark) parameters.set("mark", address.mark);
  address.expandedItems.forEach((item) => parameters.append("expand", item));
  if (address.cluster) parameters.set("cluster", address.cluster);
  if (address.selectedItem) parameters.set("chosen", address.selectedItem);
  if (address.method !== DEFAULT_ADDRESS.method) parameters.set("method", address.method);
  if (address.property) parameters.set("property", address.property);
  if (address.steepness !== DEFAULT_ADDRESS.steepness) parameters.set("by", address.steepness);
  address.branches.forEach((scaffold) => parameters.append("branch", scaffold));
  if (address.core) parameters.set("core", address.core);
  address.groups.forEach((condition) => parameters.append("group", formatGroupCondition(condition)));
  if (address.axes) parameters.set("axes", address.axes.join(","));
  if (address.minCount) parameters.set("min_count", String(address.minCount));
  if (address.change !== DEFAULT_ADDRESS.change) parameters.set("change", address.change);
  if (address.transformation) parameters.set("transformation", address.transformation);
  if (address.policy !== DEFAULT_ADDRESS.policy) parameters.set("policy", address.policy);
  if (address.seed !== DEFAULT_ADDRESS.seed) parameters.set("seed", String(address.seed));
  if (address.color) parameters.set("colour", address.color);
  if (address.plot !== DEFAULT_ADDRESS.plot) parameters.set("plot", address.plot);
  if (address.x) parameters.set("x", address.x);
  if (address.y) parameters.set("y", address.y);
  if (address.xScale) parameters.set("x_scale", address.xScale);
  if (address.yScale) parameters.set("y_scale", address.yScale);
  if (address.lasso) parameters.set("lasso", address.lasso);
  if (address.other) parameters.set("other", address.other);
  if (address.relation) parameters.set("relation", address.relation);
  if (address.from) parameters.set("from", address.from);
  if (address.to) parameters.set("to", address.to);
  if (address.job) parameters.set("job", address.job);
  if (address.earlierGeneration) parameters.set("before", address.earlierGeneration);
  if (address.generation) parameters.set("generation", address.generation);
  const text = parameters.toString();
  const list = address.listName ? `&${new URLSearchParams({ list: address.listName })}` : "";
  return (text ? `?${text}` : "") + (address.onlyIds === null ? "" : `#basket=${address.onlyIds}${list}`);
}

function substructure(smarts: string | null, smiles: string | null): Substructure | null {
  if (smarts) return { smarts };
  return smiles ? { smiles } : null;
}

function parseAxes(text: string | null): [string, string] | null {
  const [first, second] = text?.split(",") ?? [];
  return first && second ? [first, second] : null;
}

function parseNatural(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function parseSimilarity(text: string | null): number | null {
  const value = Number(text);
  return text !== null && value > 0 && value <= 1 ? value : null;
}
