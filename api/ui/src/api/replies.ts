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

export interface Damage {
  file: string;
  problem: string;
}

export interface CollectionSummary {
  name: string;
  kind: Kind;
  generation: string;
  items: number;
  edges: number;
  published_at: string;
  damaged: Damage | null;
}

export interface Collections {
  collections: CollectionSummary[];
}

export interface CollectionDetail extends FromGeneration {
  name: string;
  kind: Kind;
  generations: string[];
  manifest: Manifest;
  histograms: Histograms;
  damaged: Damage | null;
}

export interface Histograms {
  degree: Histogram;
  similarity: Histogram;
}

/** `counts[i]` values lie from `edges[i]` up to `edges[i + 1]`. */
export interface Histogram {
  edges: number[];
  counts: number[];
}

/** What the page reads of a manifest. */
export interface Manifest {
  generation: string;
  published_at: string;
  recipe: Record<string, unknown> & { threshold: number };
  versions: Record<string, string>;
  inputs: Input[];
  counts: Counts;
  edges: number;
  dropped: number | null;
  properties: Record<string, "number" | "text">;
}

export interface Input {
  name: string;
  bytes: number;
  sha256: string;
}

export interface Counts {
  read: number;
  kept: number;
  duplicates: number;
  rejected: number;
}

/** A record that was not kept. */
export interface Rejection {
  source: string;
  line: number;
  input: string;
  reason: string;
}

export interface RejectionsPage extends FromGeneration {
  rejections: Rejection[];
  next_cursor: string | null;
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
  smiles: string | null;
  id: number | null;
}

export interface SearchReply extends FromGeneration {
  query: SearchQuery;
  hits: SimilarItem[];
  total: number | null;
}

export interface Step {
  id: number;
  similarity: number | null;
}

export interface PathReply extends FromGeneration {
  path: Step[] | null;
}

/** `similarity`: the highest threshold that holds it together; null for a single item. */
export interface Component {
  id: number;
  size: number;
  medoid: number;
  similarity: number | null;
}

/** `named`: the lowest members and the medoids. */
export interface ComponentsPage extends FromGeneration {
  components: Component[];
  named: Item[];
  total: number;
  singletons: number;
  next_cursor: string | null;
}

/** `named`: the lowest members and the medoids of it and of its 10 largest children. */
export interface ComponentReply extends FromGeneration {
  component: Component;
  items: Item[];
  children: Component[];
  named: Item[];
  children_total: number;
  next_cursor: string | null;
}

export interface Hop {
  hop: number;
  pairs: number;
  mean: number;
  deviation: number;
}

export interface HopsReply extends FromGeneration {
  hops: Hop[];
}

export interface Positive {
  item: Item;
  similarity: number | null;
  direct: boolean;
  visits: number | null;
  path: number[];
}

export interface PolicyReply {
  name: string;
  k: number;
  length: number;
  walks: number;
  p: number;
  q: number;
  p_end: number;
  rank: string;
  pad: string;
}

export interface PositivesReply extends FromGeneration {
  anchor: number;
  policy: PolicyReply;
  seed: number;
  epoch: number;
  isolated: boolean;
  positives: Positive[];
}
