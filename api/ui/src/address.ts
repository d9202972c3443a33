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
  /** Compare with the whole collection, also where the hierarchy has an answer. */
  exact: boolean;
  view: View;
  /** A column, after `-` if descending; null is by similarity. */
  sort: string | null;
  /** Columns of properties; null is the first few. */
  columns: string[] | null;
  /** How often more was asked for, and once. */
  pages: number;
  /** Whether pictures show what they share with the query. */
  shared: boolean;
  /** Items whose neighbours the graph shows too, in the order in which they were asked for. */
  expanded: string[];
  /** The lowest item of the cluster, at the least similarity, that the tree begins with; null is all clusters. */
  cluster: string | null;
  /** The item that is compared with the query, as `exactly` says it. */
  chosen: string | null;
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

const PARTS = ["find", "tree", "collection"] as const;
export type Part = (typeof PARTS)[number];

export const VIEWS = ["table", "tiles", "graph", "positives"] as const;
export type View = (typeof VIEWS)[number];

export const POLICIES = ["random_walk", "first_order", "second_order"] as const;
export type Policy = (typeof POLICIES)[number];

export const START: Address = {
  collection: null,
  part: "find",
  q: null,
  generation: null,
  minSimilarity: null,
  exact: false,
  view: "table",
  sort: null,
  columns: null,
  pages: 1,
  shared: true,
  expanded: [],
  cluster: null,
  chosen: null,
  policy: "random_walk",
  seed: 0,
  colour: null,
  from: null,
  to: null,
};

/** Another query takes nothing along of what was looked at around the one before, another list none of its pages. */
export function changed(address: Address, change: Partial<Address>): Address {
  const { part, expanded, cluster, chosen, seed, from, to, pages } = START;
  const next = { ...address, ...change };
  const relisted = elsewhere(address, next) || differ(address, next, "minSimilarity", "exact");
  const around = differ(address, next, "q") ? { part, expanded, cluster, chosen, seed, from, to } : {};
  return { ...address, ...around, ...(relisted ? { pages } : {}), ...change };
}

/** Whether it is about something else. */
export function elsewhere(one: Address, other: Address): boolean {
  return differ(one, other, "collection", "q", "part", "cluster");
}

function differ(one: Address, other: Address, ...names: (keyof Address)[]): boolean {
  return names.some((name) => one[name] !== other[name]);
}

/** `next` with the very lists of `before` where they say the same: who goes by one then sees that it did not change. */
export function alike(next: Address, before: Address): Address {
  const same = <List extends string[] | null>(one: List, other: List): List =>
    JSON.stringify(one) === JSON.stringify(other) ? other : one;
  return { ...next, expanded: same(next.expanded, before.expanded), columns: same(next.columns, before.columns) };
}

export function parse(search: string): Address {
  const given = new URLSearchParams(search);
  return {
    collection: given.get("collection") || null,
    part: PARTS.find((part) => part === given.get("part")) ?? START.part,
    q: given.get("q") || null,
    generation: given.get("generation") || null,
    minSimilarity: similarity(given.get("min_similarity")),
    exact: given.get("exact") === "1",
    view: VIEWS.find((view) => view === given.get("view")) ?? START.view,
    sort: given.get("sort") || null,
    columns: given.has("column") ? given.getAll("column").filter(Boolean) : null,
    pages: Math.min(natural(given.get("pages")) || START.pages, MOST_PAGES),
    shared: given.get("shared") !== "0",
    expanded: given.getAll("expand").filter(Boolean).slice(0, MOST_EXPANDED),
    cluster: given.get("cluster") || null,
    chosen: given.get("chosen") || null,
    policy: POLICIES.find((policy) => policy === given.get("policy")) ?? START.policy,
    seed: natural(given.get("seed")) ?? START.seed,
    colour: given.get("colour") || null,
    from: given.get("from") || null,
    to: given.get("to") || null,
  };
}

/** The shortest query string that `parse` reads as this address. */
export function format(address: Address): string {
  const said = new URLSearchParams();
  if (address.collection) said.set("collection", address.collection);
  if (address.part !== START.part) said.set("part", address.part);
  if (address.q) said.set("q", address.q);
  if (address.minSimilarity !== null) said.set("min_similarity", String(address.minSimilarity));
  if (address.exact) said.set("exact", "1");
  if (address.view !== START.view) said.set("view", address.view);
  if (address.sort) said.set("sort", address.sort);
  if (address.columns?.length === 0) said.set("column", "");
  address.columns?.forEach((column) => said.append("column", column));
  if (address.pages !== START.pages) said.set("pages", String(address.pages));
  if (!address.shared) said.set("shared", "0");
  address.expanded.forEach((item) => said.append("expand", item));
  if (address.cluster) said.set("cluster", address.cluster);
  if (address.chosen) said.set("chosen", address.chosen);
  if (address.policy !== START.policy) said.set("policy", address.policy);
  if (address.seed !== START.seed) said.set("seed", String(address.seed));
  if (address.colour) said.set("colour", address.colour);
  if (address.from) said.set("from", address.from);
  if (address.to) said.set("to", address.to);
  if (address.generation) said.set("generation", address.generation);
  const text = said.toString();
  return text ? `?${text}` : "";
}

function natural(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function similarity(text: string | null): number | null {
  const value = Number(text);
  return text !== null && value > 0 && value <= 1 ? value : null;
}
