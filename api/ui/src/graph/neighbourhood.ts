import type { Client } from "../api/client";
import type { Item, SimilarItem } from "../api/replies";
import type { Reading } from "../find/reading";
import type { ComparedItem } from "../look/item";

export const MOST_NODES = 1000;
export const MOST_EDGES = 5000; // drawn: the most similar
const BATCH = 100; // neighbours that an item brings at a time

/** Nodes by place, the query at place 0. */
export interface Neighbourhood {
  nodes: Node[];
  /** All stored edges among the nodes, and those of a query that is not stored. */
  edges: Edges;
}

export interface Node {
  /** Null for a query that is not stored. */
  item: Item | null;
  /** To the query; null if there is no edge between them. */
  similarity: number | null;
  /** How many stored neighbours are not among the nodes. */
  more: number;
}

/** A node as it is compared with the query, which is null itself. */
export function compared(nodes: Node[], place: number | null): ComparedItem | null {
  const node = place ? nodes[place] : undefined;
  return node?.item ? { item: node.item, similarity: node.similarity } : null;
}

/** Edges between places, as parallel arrays, most similar first. */
export interface Edges {
  source: Int32Array;
  target: Int32Array;
  similarity: Float64Array;
}

export interface Question {
  client: Client;
  subject: Reading;
  /** Only these, the subject first, and `others`; null is what lies around it. */
  among: Item[] | null;
  /** The stored τ. */
  lowest: number;
  /** Whose neighbours are wanted besides the query's own; 100 more for each time that one is named. */
  expanded: Item[];
  /** Who else is wanted. */
  others: Item[];
}

type Edge = [source: number, target: number, similarity: number];

/** What lies around a query: the most similar of each item that is expanded. */
export async function around(question: Question, signal: AbortSignal): Promise<Neighbourhood> {
  const { client, subject, among, expanded, others } = question;
  const hits = subject.item === null ? await search(question, signal) : [];
  const items = new Map<number, Item>();
  for (const { item } of hits) items.set(item.id, item);
  for (const item of among ?? []) items.set(item.id, item);
  const grown = Map.groupBy(subject.item === null || among !== null ? expanded : [subject.item, ...expanded], ({ id }) => id);
  for (const times of grown.values()) await grow(items, times[0]!, BATCH * times.length, client, signal);
  for (const item of others) items.set(item.id, item);

  const nodes = [...(subject.item === null ? [null] : []), ...items.values()];
  const places = new Map(nodes.map((item, place) => [item?.id, place]));
  const stored = items.size ? read(await edgesAmong(client, [...items.keys()], signal), places) : [];
  const own = hits.map(({ item, similarity }): Edge => [0, places.get(item.id)!, similarity]);
  return assembled(nodes, stored, own);
}

async function search({ client, subject, lowest }: Question, signal: AbortSignal): Promise<SimilarItem[]> {
  const body = { smiles: subject.smiles ?? "", min_similarity: lowest || null, limit: BATCH };
  return (await client.search(body, signal)).hits;
}

/** Adds an item, and its most similar neighbours that are not there yet. */
async function grow(
  items: Map<number, Item>,
  item: Item,
  wanted: number,
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  if (items.size >= MOST_NODES) return;
  items.set(item.id, item);
  const room = Math.min(MOST_NODES - items.size, wanted);
  const limit = Math.min(items.size + wanted, MOST_NODES); // enough, even if all who are there are among them
  const page = await client.neighbors(item.id, { min_similarity: null, limit, cursor: null }, signal);
  const fresh = page.neighbors.filter((each) => !items.has(each.item.id)).slice(0, room);
  for (const each of fresh) items.set(each.item.id, each.item);
}

async function edgesAmong(client: Client, ids: number[], signal: AbortSignal): Promise<string> {
  return (await client.export({ ids, what: "edges", format: "csv" }, signal)).text();
}

/** Edges of a CSV file: source, target, similarity. */
function read(csv: string, places: Map<number | undefined, number>): Edge[] {
  const lines = csv.trimEnd().split("\n").slice(1);
  return lines.map((line) => {
    const [source, target, similarity] = line.split(",").map(Number);
    return [places.get(source)!, places.get(target)!, similarity!];
  });
}

function assembled(items: (Item | null)[], stored: Edge[], own: Edge[]): Neighbourhood {
  const shown = new Int32Array(items.length);
  for (const [source, target] of stored) {
    shown[source]!++;
    shown[target]!++;
  }
  const edges = [...own, ...stored].sort((one, other) => other[2] - one[2]);
  const near = new Map(edges.flatMap(([a, b, similarity]) => (a === 0 ? [[b, similarity]] : b === 0 ? [[a, similarity]] : [])));
  return {
    nodes: items.map((item, place) => ({
      item,
      similarity: near.get(place) ?? null,
      more: item === null ? 0 : item.degree - shown[place]!,
    })),
    edges: {
      source: Int32Array.from(edges, (edge) => edge[0]),
      target: Int32Array.from(edges, (edge) => edge[1]),
      similarity: Float64Array.from(edges, (edge) => edge[2]),
    },
  };
}
