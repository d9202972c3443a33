import type {
  CollectionDetail,
  Collections,
  CollectionSummary,
  Item,
  ItemReply,
  ItemsPage,
  NeighborsPage,
  Problem,
  SearchReply,
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
}

type Parameters = Record<string, string | number | null | undefined>;

function query(parameters: Parameters): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

async function answer<Reply>(path: string, options: RequestInit): Promise<Reply> {
  let response: Response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Failure(0, "No answer", "The server cannot be reached.", "Is it running, and is this machine online?");
  }
  if (response.ok) return (await response.json()) as Reply;
  const problem = (await response.json().catch(() => null)) as Problem | null;
  if (problem === null) throw new Failure(response.status, "Not answered", `The server says ${response.status}.`);
  throw new Failure(problem.status, problem.title, problem.detail, problem.hint);
}

export async function collections(signal?: AbortSignal): Promise<CollectionSummary[]> {
  return (await answer<Collections>("/v1/collections", { signal })).collections;
}

/** How large a picture is, in pixels of the page. */
export interface Size {
  width: number;
  height: number;
}

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

  async items(parameters: { name?: string; limit?: number }, signal?: AbortSignal): Promise<Item[]> {
    return (await this.get<ItemsPage>("/items", parameters, signal)).items;
  }

  structure(given: { smiles: string } | { inchi: string }, signal?: AbortSignal): Promise<StructureReply> {
    return this.get("/structure", given, signal);
  }

  neighbors(
    id: number,
    parameters: { min_similarity: number | null; limit: number; cursor: string | null },
    signal?: AbortSignal,
  ): Promise<NeighborsPage> {
    return this.get(`/items/${id}/neighbors`, parameters, signal);
  }

  search(
    body: { smiles: string; min_similarity: number | null; limit: number },
    signal?: AbortSignal,
  ): Promise<SearchReply> {
    return answer(this.url("/search", {}), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  }

  /** Where an item's picture is, with what it shares with a structure highlighted. */
  depiction(item: Item, size: Size, highlight: string | null = null): string {
    return this.url(`/items/${item.id}/depiction.svg`, { ...size, highlight_smiles: highlight });
  }

  /** Where a structure's picture is. */
  structureDepiction(smiles: string, size: Size): string {
    return this.url("/structure.svg", { smiles, ...size });
  }

  private get<Reply>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<Reply> {
    return answer(this.url(path, parameters), { signal });
  }

  private url(path: string, parameters: Parameters): string {
    const base = `/v1/collections/${encodeURIComponent(this.collection)}`;
    return base + path + query({ ...parameters, generation: this.generation });
  }
}
