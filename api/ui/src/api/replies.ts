// What the API replies, as api/schemas.py says; a test holds the two together.

export type Kind = "molecule" | "graph" | "node";

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  given: unknown;
  expected: string | null;
  hint: string | null;
}

export interface Item {
  id: number;
  smiles: string | null;
  names: string[];
  inchikey: string | null;
  properties: Record<string, unknown>;
  degree: number;
  dropped: number | null;
}

export interface SimilarItem {
  item: Item;
  similarity: number;
}

export interface FromGeneration {
  generation: string;
}

export interface CollectionSummary {
  name: string;
  kind: Kind;
  generation: string;
  items: number;
  edges: number;
  published_at: string;
}

export interface Collections {
  collections: CollectionSummary[];
}

export interface CollectionDetail extends FromGeneration {
  name: string;
  kind: Kind;
  generations: string[];
  manifest: Manifest;
  histograms: Record<string, unknown>;
}

/** What the page reads of a manifest. */
export interface Manifest {
  recipe: Record<string, unknown> & { threshold: number };
  counts: { kept: number };
  edges: number;
  properties: Record<string, "number" | "text">;
}

export interface ItemReply extends FromGeneration, Item {}

export interface ItemsPage extends FromGeneration {
  items: Item[];
  next_cursor: string | null;
}

export interface NeighborsPage extends FromGeneration {
  item: Item;
  neighbors: SimilarItem[];
  total: number;
  capped: boolean | null;
  next_cursor: string | null;
}

export interface StructureReply extends FromGeneration {
  smiles: string;
  id: number | null;
}

export interface SearchQuery {
  smiles: string;
  id: number | null;
}

export interface SearchReply extends FromGeneration {
  query: SearchQuery;
  hits: SimilarItem[];
  total: number | null;
}
