import type { Mark } from "../address";
import { withAuthorization, key } from "./key.svelte";
import type { components } from "./openapi";
import type {
  CliffsPage,
  Cluster,
  ClustersPage,
  CollectionDetail,
  Collections,
  CollectionSummary,
  ComponentReply,
  ComponentsPage,
  McsReply,
  Hop,
  HopsReply,
  Item,
  ItemClusterReply,
  ItemReply,
  ItemsPage,
  NeighborsPage,
  PathReply,
  PickReply,
  PositivesReply,
  Problem,
  QueryPage,
  RejectionsPage,
  ReportsReply,
  ReportSummary,
  SearchReply,
  SearchRow,
  Step,
  StructureReply,
} from "./replies";

/** A request that was not answered as hoped; `status` 0 where there was no answer at all. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    detail: string,
    readonly hint: string | null = null,
  ) {
    super(detail);
  }

  /** Whether to ask again may help. */
  get isTemporary(): boolean {
    return this.status < 400 || this.status >= 500 || this.status === 429;
  }
}

/** The server is busy, and says in how many seconds to ask again. */
export class ServerBusy extends Failure {
  constructor(
    readonly seconds: number,
    ...details: ConstructorParameters<typeof Failure>
  ) {
    super(...details);
  }
}

/** What was asked for is damaged, and stays so. */
export class DamagedFailure extends Failure {
  override get isTemporary(): boolean {
    return false;
  }
}

const UNAUTHORIZED = 401;
const DAMAGED = "urn:graphkin:problem:damaged";

type Parameters = Record<string, string | number | null | undefined>;

function query(parameters: Parameters): string {
  const entries = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  return entries.length ? `?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}` : "";
}

function fetchJson<Reply>(path: string, options: RequestInit): Promise<Reply> {
  return request(path, options, (response) => response.json() as Promise<Reply>);
}

function postOptions(body: unknown, signal?: AbortSignal): RequestInit {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

/** What `body` makes of the response, if it is what was asked for. */
async function request<Body>(path: string, options: RequestInit, body: (response: Response) => Promise<Body>): Promise<Body> {
  try {
    const response = await fetch(path, { ...options, headers: withAuthorization(options.headers) });
    if (response.ok) return await body(response);
    if (response.status === UNAUTHORIZED) key.isRequired = true;
    throw await failureFrom(response);
  } catch (error) {
    if (options.signal?.aborted || error instanceof Failure) throw error;
    throw new Failure(0, "No answer", "The server cannot be reached.", "Is it running, and is this machine online?");
  }
}

async function failureFrom(response: Response): Promise<Failure> {
  const problem = (await response.json().catch(() => null)) as Problem | null;
  const details: ConstructorParameters<typeof Failure> = problem
    ? [problem.status, problem.title, problem.detail, problem.hint]
    : [response.status, "Not answered", `The server says ${response.status}.`];
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "");
  if (problem?.type === DAMAGED) return new DamagedFailure(...details);
  return Number.isNaN(seconds) ? new Failure(...details) : new ServerBusy(seconds, ...details);
}

export async function listCollections(signal?: AbortSignal): Promise<CollectionSummary[]> {
  return (await fetchJson<Collections>("/v1/collections", { signal })).collections;
}

/** The SVG of a picture. */
export function fetchSvg(address: string, signal?: AbortSignal): Promise<string> {
  return request(address, { signal }, (response) => response.text());
}

/** How large a picture is, in pixels of the page. */
export interface Size {
  width: number;
  height: number;
}

/** The structure that another lies like in its picture, and what is marked in that. */
export interface Alignment {
  smiles: string;
  mark: Mark;
  /** False for a picture that lies as it does alone, and is only marked. */
  turned?: boolean;
}

function alignmentParameters(alignment: Alignment | null): Parameters {
  return alignment === null ? {} : { highlight_smiles: alignment.smiles, mark: alignment.mark, turned: alignment.turned === false ? "false" : null };
}

/** Items, or the edges among them, in a format that other programs open. */
export type ExportRequest = components["schemas"]["ExportBody"];

/** One generation of one collection; `generation` null is the current one. */
export class Client {
  constructor(
    readonly collection: string,
    readonly generation: string | null,
  ) {}

  detail(signal?: AbortSignal): Promise<CollectionDetail> {
    return this.get("", {}, signal);
  }

  item(id: number, signal?: AbortSignal): Promise<Item> {
    return this.get<ItemReply>(`/items/${id}`, {}, signal);
  }

  async items(parameters: { name?: string; inchikey?: string; limit?: number }, signal?: AbortSignal): Promise<Item[]> {
    return (await this.get<ItemsPage>("/items", parameters, signal)).items;
  }

  structure(structure: { smiles: string } | { inchi: string }, signal?: AbortSignal): Promise<StructureReply> {
    return this.get("/structure", structure, signal);
  }

  neighbors(
    id: number,
    parameters: { min_similarity: number | null; limit: number; cursor: string | null },
    signal?: AbortSignal,
  ): Promise<NeighborsPage> {
    return this.get(`/items/${id}/neighbors`, parameters, signal);
  }

  /** The items that pass, page by page. */
  query(body: components["schemas"]["QueryBody"], signal?: AbortSignal): Promise<QueryPage> {
    return fetchJson(this.url("/items/query", {}), postOptions(body, signal));
  }

  /** These items, in any order. */
  async itemsByIds(ids: number[], signal?: AbortSignal): Promise<Item[]> {
    const items: Item[] = [];
    for (let cursor: string | null = null; items.length < ids.length; ) {
      const page: QueryPage = await this.query({ ids, limit: 1000, cursor }, signal);
      items.push(...page.items.map(({ similarity: _, ...item }) => item));
      cursor = page.next_cursor;
      if (cursor === null) break;
    }
    return items;
  }

  /** For each of many structures or names the item that it is, and the most similar one. */
  searchBatch(structures: components["schemas"]["SearchBatchBody"]["structures"], signal?: AbortSignal): Promise<SearchRow[]> {
    const { headers, ...options } = postOptions({ structures, limit: 1 }, signal);
    const ndjsonOptions = { ...options, headers: { ...headers, Accept: "application/x-ndjson" } };
    return request(this.url("/search/batch", {}), ndjsonOptions, async (response) => {
      const lines = (await response.text()).trimEnd().split("\n");
      return lines.map((line) => JSON.parse(line) as SearchRow);
    });
  }

  search(body: components["schemas"]["SearchBody"], signal?: AbortSignal): Promise<SearchReply> {
    return fetchJson(this.url("/search", {}), postOptions(body, signal));
  }

  /** Pairs of neighbours that differ much in a property, and their items. */
  cliffs(parameters: Parameters, signal?: AbortSignal): Promise<CliffsPage> {
    return this.get("/cliffs", parameters, signal);
  }

  /** All items in clusters, the largest first. */
  clusters(parameters: Parameters, signal?: AbortSignal): Promise<ClustersPage> {
    return this.get("/clusters", parameters, signal);
  }

  /** What the members of a cluster share. */
  mcs(cluster: number, parameters: Parameters, signal?: AbortSignal): Promise<McsReply> {
    return this.get(`/clusters/${cluster}/mcs`, parameters, signal);
  }

  /** Where its picture is. */
  coreDepiction(cluster: number, parameters: Parameters, size: Size): string {
    return this.url(`/clusters/${cluster}/mcs.svg`, { ...parameters, ...size });
  }

  /** The cluster of an item. */
  async clusterOf(id: number, parameters: Parameters, signal?: AbortSignal): Promise<Cluster> {
    return (await this.get<ItemClusterReply>(`/items/${id}/cluster`, parameters, signal)).cluster;
  }

  /** Where all items lie on a map, as JSON Lines. */
  map(parameters: Parameters, signal?: AbortSignal): Promise<string> {
    const ndjsonOptions = { signal, headers: { Accept: "application/x-ndjson" } };
    return request(this.url("/map", parameters), ndjsonOptions, (response) => response.text());
  }

  /** A diverse part of everything, or of what is found. */
  pick(body: components["schemas"]["PickBody"], signal?: AbortSignal): Promise<PickReply> {
    return fetchJson(this.url("/pick", {}), postOptions(body, signal));
  }

  /** Fewest edges between two items, then the largest minimum similarity; null if they are far apart. */
  async path(from: number, to: number, min_similarity: number, signal?: AbortSignal): Promise<Step[] | null> {
    return (await this.get<PathReply>("/paths", { from, to, min_similarity }, signal)).path;
  }

  /** How similar two items are, if an edge joins them. */
  async edgeSimilarity(a: number, b: number, signal?: AbortSignal): Promise<number | null> {
    const { path } = await this.get<PathReply>("/paths", { from: a, to: b, max_hops: 1 }, signal);
    return path?.[1]?.similarity ?? null;
  }

  /** What hangs together, the largest first. */
  components(
    parameters: { min_similarity: number; cursor: string | null },
    signal?: AbortSignal,
  ): Promise<ComponentsPage> {
    return this.get("/components", parameters, signal);
  }

  /** One of these, and what it falls into. */
  component(id: number, min_similarity: number, signal?: AbortSignal): Promise<ComponentReply> {
    return this.get(`/components/${id}`, { min_similarity, limit: 1 }, signal);
  }

  /** Records that were not kept, in input order. */
  rejections(parameters: { limit: number; cursor: string | null }, signal?: AbortSignal): Promise<RejectionsPage> {
    return this.get("/rejections", parameters, signal);
  }

  /** How similar items are that lie so many edges apart. */
  async hops(signal?: AbortSignal): Promise<Hop[]> {
    return (await this.get<HopsReply>("/hops", {}, signal)).hops;
  }

  /** The analyses of it that were made. */
  async reports(signal?: AbortSignal): Promise<ReportSummary[]> {
    return (await this.get<ReportsReply>("/reports", {}, signal)).reports;
  }

  /** Where a report's charts are. */
  chartsUrl(report: string): string {
    return this.url(`/reports/${encodeURIComponent(report)}.svg`, {});
  }

  /** What a trainer would take for similar to an item. */
  positives(id: number, parameters: { policy: string; k: number; seed: number }, signal?: AbortSignal): Promise<PositivesReply> {
    return this.get(`/items/${id}/positives`, parameters, signal);
  }

  /** A selection, as a file. */
  export(body: ExportRequest, signal?: AbortSignal): Promise<Blob> {
    return request(this.url("/export", {}), postOptions(body, signal), (response) => response.blob());
  }

  /** Where an item's picture is, as it lies alone or as another structure does, with what both share or not marked. */
  depictionUrl(item: { id: number }, size: Size, alignment: Alignment | null = null): string {
    return this.url(`/items/${item.id}/depiction.svg`, { ...size, ...alignmentParameters(alignment) });
  }

  /** Where a structure's picture is, alone or compared with another structure. */
  structureDepictionUrl(smiles: string, size: Size, alignment: Alignment | null = null): string {
    return this.url("/structure.svg", { smiles, ...size, ...alignmentParameters(alignment) });
  }

  private get<Reply>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<Reply> {
    return fetchJson(this.url(path, parameters), { signal });
  }

  private url(path: string, parameters: Parameters): string {
    const base = `/v1/collections/${encodeURIComponent(this.collection)}`;
    return base + path + query({ ...parameters, generation: this.generation });
  }
}
