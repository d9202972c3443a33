import type { Client } from "../api/client";
import type { Item, SimilarItem } from "../api/replies";
import type { Interpretation } from "../find/interpretation";
import type { ComparedItem } from "../results/item";

/** Largest number of nodes in the graph. */
export const MAX_NODES = 1000;
/** Largest number of edges that are drawn: the most similar ones. */
export const MAX_EDGES = 5000;
const EXPANSION_SIZE = 100; // neighbors that each expansion adds

/** Nodes of the graph, with the query at index 0, and the edges among them. */
export interface Neighborhood {
  nodes: Node[];
  /** All stored edges among the nodes, and the search hits of a query that is not stored. */
  edges: Edges;
}

/** A node of the graph. */
export interface Node {
  /** Null for a query that is not stored. */
  item: Item | null;
  /** Similarity to the query; null if no edge joins them. */
  similarity: number | null;
  /** Number of stored neighbors that are not among the nodes. */
  moreCount: number;
}

/** Return a node for comparison with the query; null for the query itself. */
export function comparedNode(nodes: Node[], index: number | null): ComparedItem | null {
  const node = index ? nodes[index] : undefined;
  return node?.item ? { item: node.item, similarity: node.similarity } : null;
}

/** Edges between node indices as parallel arrays, sorted by descending similarity. */
export interface Edges {
  source: Int32Array;
  target: Int32Array;
  similarity: Float64Array;
}

/** Request for the neighborhood of a query. */
export interface NeighborhoodRequest {
  client: Client;
  subject: Interpretation;
  /** Items to show, the subject first; null shows the neighborhood of the subject. */
  itemSubset: Item[] | null;
  /** Stored threshold. */
  minThreshold: number;
  /** Items whose neighbors are added too. Each occurrence of an item adds 100 more. */
  expandedItems: Item[];
  /** Further items to include, such as those on a path. */
  additionalItems: Item[];
}

type Edge = [source: number, target: number, similarity: number];

/** Load the neighborhood of a query: the most similar neighbors of the query and of each expanded item. */
export async function loadNeighborhood(request: NeighborhoodRequest, signal: AbortSignal): Promise<Neighborhood> {
  const { client, subject, itemSubset, expandedItems, additionalItems } = request;
  const hits = subject.item === null ? await search(request, signal) : [];
  const items = new Map<number, Item>();
  for (const { item } of hits) items.set(item.id, item);
  for (const item of itemSubset ?? []) items.set(item.id, item);
  const expansions = Map.groupBy(subject.item === null || itemSubset !== null ? expandedItems : [subject.item, ...expandedItems], ({ id }) => id);
  for (const repeats of expansions.values()) await addNeighbors(items, repeats[0]!, EXPANSION_SIZE * repeats.length, client, signal);
  for (const item of additionalItems) items.set(item.id, item);

  const nodes = [...(subject.item === null ? [null] : []), ...items.values()];
  const indexOfItem = new Map(nodes.map((item, index) => [item?.id, index]));
  const storedEdges = items.size ? parseEdges(await edgesAmong(client, [...items.keys()], signal), indexOfItem) : [];
  const queryEdges = hits.map(({ item, similarity }): Edge => [0, indexOfItem.get(item.id)!, similarity]);
  return assemble(nodes, storedEdges, queryEdges);
}

async function search({ client, subject, minThreshold }: NeighborhoodRequest, signal: AbortSignal): Promise<SimilarItem[]> {
  const body = { smiles: subject.smiles ?? "", min_similarity: minThreshold || null, limit: EXPANSION_SIZE };
  return (await client.search(body, signal)).hits;
}

/** Add an item, and up to `count` of its most similar neighbors that are not included yet. */
async function addNeighbors(
  items: Map<number, Item>,
  item: Item,
  count: number,
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  if (items.size >= MAX_NODES) return;
  items.set(item.id, item);
  const maxNew = Math.min(MAX_NODES - items.size, count);
  // This suffices even if all included items are among the neighbors.
  const limit = Math.min(items.size + count, MAX_NODES);
  const page = await client.neighbors(item.id, { min_similarity: null, limit, cursor: null }, signal);
  const newItems = page.neighbors.filter((neighbor) => !items.has(neighbor.item.id)).slice(0, maxNew);
  for (const neighbor of newItems) items.set(neighbor.item.id, neighbor.item);
}

async function edgesAmong(client: Client, ids: number[], signal: AbortSignal): Promise<string> {
  return (await client.export({ ids, what: "edges", format: "csv" }, signal)).text();
}

/** Parse edges of a CSV file with the columns source, target, similarity. */
function parseEdges(csv: string, indexOfItem: Map<number | undefined, number>): Edge[] {
  const lines = csv.trimEnd().split("\n").slice(1);
  return lines.map((line) => {
    const [source, target, similarity] = line.split(",").map(Number);
    return [indexOfItem.get(source)!, indexOfItem.get(target)!, similarity!];
  });
}

function assemble(items: (Item | null)[], storedEdges: Edge[], queryEdges: Edge[]): Neighborhood {
  const visibleDegrees = new Int32Array(items.length);
  for (const [source, target] of storedEdges) {
    visibleDegrees[source]!++;
    visibleDegrees[target]!++;
  }
  const edges = [...queryEdges, ...storedEdges].sort((a, b) => b[2] - a[2]);
  const querySimilarities = new Map(edges.flatMap(([a, b, similarity]) => (a === 0 ? [[b, similarity]] : b === 0 ? [[a, similarity]] : [])));
  return {
    nodes: items.map((item, index) => ({
      item,
      similarity: querySimilarities.get(index) ?? null,
      moreCount: item === null ? 0 : item.degree - visibleDegrees[index]!,
    })),
    edges: {
      source: Int32Array.from(edges, (edge) => edge[0]),
      target: Int32Array.from(edges, (edge) => edge[1]),
      similarity: Float64Array.from(edges, (edge) => edge[2]),
    },
  };
}
