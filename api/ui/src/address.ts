/** What the page's address says: every state that can be sent to a colleague. */
export interface Address {
  collection: string | null;
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
  /** Whether pictures show what they share with the query. */
  shared: boolean;
}

export const VIEWS = ["table", "tiles"] as const;
export type View = (typeof VIEWS)[number];

export const START: Address = {
  collection: null,
  q: null,
  generation: null,
  minSimilarity: null,
  exact: false,
  view: "table",
  sort: null,
  columns: null,
  shared: true,
};

export function parse(search: string): Address {
  const given = new URLSearchParams(search);
  return {
    collection: given.get("collection") || null,
    q: given.get("q") || null,
    generation: given.get("generation") || null,
    minSimilarity: similarity(given.get("min_similarity")),
    exact: given.get("exact") === "1",
    view: VIEWS.find((view) => view === given.get("view")) ?? START.view,
    sort: given.get("sort") || null,
    columns: given.has("column") ? given.getAll("column").filter(Boolean) : null,
    shared: given.get("shared") !== "0",
  };
}

/** The shortest query string that `parse` reads as this address. */
export function format(address: Address): string {
  const said = new URLSearchParams();
  if (address.collection) said.set("collection", address.collection);
  if (address.q) said.set("q", address.q);
  if (address.minSimilarity !== null) said.set("min_similarity", String(address.minSimilarity));
  if (address.exact) said.set("exact", "1");
  if (address.view !== START.view) said.set("view", address.view);
  if (address.sort) said.set("sort", address.sort);
  if (address.columns?.length === 0) said.set("column", "");
  address.columns?.forEach((column) => said.append("column", column));
  if (!address.shared) said.set("shared", "0");
  if (address.generation) said.set("generation", address.generation);
  const text = said.toString();
  return text ? `?${text}` : "";
}

function similarity(text: string | null): number | null {
  const value = Number(text);
  return text !== null && value > 0 && value <= 1 ? value : null;
}
