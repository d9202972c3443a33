import type { Mark, Substructure } from "../address";
import type { components } from "./openapi";
import type {
  CliffsPage,
  CollectionDetail,
  ComparisonPage,
  ComparisonRow,
  Collections,
  ComponentReply,
  ComponentsPage,
  McsReply,
  RgroupsReply,
  MatchedPairsPage,
  ItemMatchedPairsPage,
  Hop,
  HopsReply,
  Item,
  ItemClusterReply,
  ItemReply,
  ItemsPage,
  LineagePage,
  NeighborsPage,
  PathReply,
  PickReply,
  PositivesReply,
  RankedClustersPage,
  QueryPage,
  RejectionsPage,
  ReportsReply,
  ReportSummary,
  ScaffoldTreePage,
  SearchReply,
  SearchRow,
  Step,
  StructureReply,
} from "./replies";
import { fetchJson, postOptions, request } from "./request";

type Parameters = Record<string, string | number | null | undefined>;

function queryString(parameters: Parameters): string {
  const entries = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  return entries.length ? `?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}` : "";
}

/** Return all collections of the server, each with its current generation, and the limits of uploads. */
export function listCollections(signal?: AbortSignal): Promise<Collections> {
  return fetchJson("/v1/collections", { signal });
}

/** Fetch the SVG of a depiction. */
export function fetchSvg(url: string, signal?: AbortSignal): Promise<string> {
  return request(url, { signal }, (response) => response.text());
}

/** Size of a depiction in CSS pixels. */
export interface Size {
  width: number;
  height: number;
}

/** Structure that a depiction is aligned with, and what the depiction highlights in comparison with it. */
export interface Alignment {
  smiles: string;
  mark: Mark;
  /** False to highlight without aligning: the depiction keeps its own orientation. */
  turned?: boolean;
}

function alignmentParameters(alignment: Alignment | null): Parameters {
  return alignment === null ? {} : { highlight_smiles: alignment.smiles, mark: alignment.mark, turned: alignment.turned === false ? "false" : null };
}

/** A series, and the part of its scaffold tree to list. */
export type ScaffoldTreeRequest = components["schemas"]["ScaffoldTreeBody"];

/** Items, or the edges among them, to export in a file format. */
export type ExportRequest = components["schemas"]["ExportBody"];

/** A clustering, the items of it that count, and the order of the clusters. */
export type ClustersRequest = components["schemas"]["RankedClustersBody"];

/** The order of activity cliffs, and the items that count. */
export type CliffsRequest = components["schemas"]["CliffsBody"];

/** The transformations of matched pairs to list, and the items that count. */
export type MatchedPairsRequest = components["schemas"]["MatchedPairsBody"];

/** Another collection to compare with a collection, and the items of it to return. */
export type ComparisonRequest = components["schemas"]["ComparisonBody"];

/** Series whose R groups are requested, and the core. */
export type RgroupsRequest = components["schemas"]["RGroupsBody"];

/** Media types of files of R groups. */
const RGROUPS_MEDIA_TYPES = {
  csv: "text/csv",
  sdf: "chemical/x-mdl-sdfile",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  svg: "image/svg+xml",
  png: "image/png",
};
export type RgroupsFormat = keyof typeof RGROUPS_MEDIA_TYPES;

const NDJSON = "application/x-ndjson";

/** Client of one generation of one collection. A null generation means the current one. */
export class Client {
  constructor(
    readonly collection: string,
    readonly generation: string | null,
  ) {}

  /** Return the manifest, the histograms and the computed columns of the generation. */
  async detail(signal?: AbortSignal): Promise<CollectionDetail> {
    const [detail, computed] = await Promise.all([this.get<CollectionDetail>("", {}, signal), this.descriptors(signal)]);
    return { ...detail, computed };
  }

  /** Return an item. */
  item(id: number, signal?: AbortSignal): Promise<Item> {
    return this.get<ItemReply>(`/items/${id}`, {}, signal);
  }

  /** Return the items with a name or an InChIKey, or the first items. */
  async items(parameters: { name?: string; inchikey?: string; limit?: number }, signal?: AbortSignal): Promise<Item[]> {
    return (await this.get<ItemsPage>("/items", parameters, signal)).items;
  }

  /** Standardize a structure and look up its item. The id is null if the collection does not contain it. */
  structure(structure: { smiles: string } | { inchi: string }, signal?: AbortSignal): Promise<StructureReply> {
    return this.get("/structure", structure, signal);
  }

  /** Return the molecular descriptors and the activities that the collection offers as columns. */
  descriptors(signal?: AbortSignal): Promise<components["schemas"]["DescriptorsReply"]> {
    return this.get("/descriptors", {}, signal);
  }

  /** Compute the molecular descriptors of a structure, which need not be an item. */
  structureDescriptors(smiles: string, signal?: AbortSignal): Promise<components["schemas"]["StructureDescriptorsReply"]> {
    return this.get("/structure/descriptors", { smiles }, signal);
  }

  /** Return one page of the stored neighbors of an item, the most similar first. */
  neighbors(
    id: number,
    parameters: { min_similarity: number | null; limit: number; cursor: string | null },
    signal?: AbortSignal,
  ): Promise<NeighborsPage> {
    return this.get(`/items/${id}/neighbors`, parameters, signal);
  }

  /** Return one page of the items that match a request. */
  query(body: components["schemas"]["QueryBody"], signal?: AbortSignal): Promise<QueryPage> {
    return fetchJson(this.url("/items/query", {}), postOptions(body, signal));
  }

  /** Return the items with these ids, in any order. */
  async itemsByIds(ids: number[], signal?: AbortSignal): Promise<Item[]> {
    const items: Item[] = [];
    for (let cursor: string | null = null; items.length < ids.length; ) {
      const page: QueryPage = await this.query({ ids, limit: 1000, cursor }, signal);
      items.push(...page.items.map(({ similarity: _, computed: __, ...item }) => item));
      cursor = page.next_cursor;
      if (cursor === null) break;
    }
    return items;
  }

  /** Return a row for each structure or name: the item it identifies and the most similar item. */
  searchBatch(
    structures: components["schemas"]["SearchBatchBody"]["structures"],
    signal?: AbortSignal,
    minSimilarity: number | null = null,
  ): Promise<SearchRow[]> {
    return this.rows("/search/batch", { structures, limit: 1, min_similarity: minSimilarity }, signal);
  }

  /** Return the ids of all items that match a request. */
  async matchingIds(query: components["schemas"]["QueryFields"], signal?: AbortSignal): Promise<number[]> {
    const rows = await this.rows<{ id: number }>("/values", { ...query, columns: [] }, signal);
    return rows.map(({ id }) => id);
  }

  /** Search the whole collection for items similar to a structure. */
  search(body: components["schemas"]["SearchBody"], signal?: AbortSignal): Promise<SearchReply> {
    return fetchJson(this.url("/search", {}), postOptions(body, signal));
  }

  /** Return pairs of neighbors with a large difference in a property, and their items. */
  cliffs(body: CliffsRequest, signal?: AbortSignal): Promise<CliffsPage> {
    return fetchJson(this.url("/cliffs", {}), postOptions(body, signal));
  }

  /** Return one page of the clusters that contain items of a query, in an order. */
  clusters(body: ClustersRequest, signal?: AbortSignal): Promise<RankedClustersPage> {
    return fetchJson(this.url("/clusters", {}), postOptions(body, signal));
  }

  /** Return one page of the items of another collection, each with its nearest item of this one. */
  compare(body: ComparisonRequest, signal?: AbortSignal): Promise<ComparisonPage> {
    return fetchJson(this.url("/compare", {}), postOptions(body, signal));
  }

  /** Return the rows of a comparison with another collection. */
  comparisonRows(body: components["schemas"]["ComparisonRowsBody"], signal?: AbortSignal): Promise<ComparisonRow[]> {
    return this.rows("/compare/rows", body, signal);
  }

  /** Return one page of the changes of clusters since an earlier generation. */
  lineage(parameters: Parameters, signal?: AbortSignal): Promise<LineagePage> {
    return this.get("/lineage", parameters, signal);
  }

  /** Return the maximum common substructure of the members of a cluster. */
  mcs(cluster: number, parameters: Parameters, signal?: AbortSignal): Promise<McsReply> {
    return this.get(`/clusters/${cluster}/mcs`, parameters, signal);
  }

  /** Return the URL of the depiction of that substructure. */
  mcsDepictionUrl(cluster: number, parameters: Parameters, size: Size): string {
    return this.url(`/clusters/${cluster}/mcs.svg`, { ...parameters, ...size });
  }

  /** Return the cluster that contains an item, and the threshold of the clustering. */
  clusterOf(id: number, parameters: Parameters, signal?: AbortSignal): Promise<ItemClusterReply> {
    return this.get(`/items/${id}/cluster`, parameters, signal);
  }

  /** Return the R groups of a series. */
  rgroups(body: RgroupsRequest, signal?: AbortSignal): Promise<RgroupsReply> {
    return fetchJson(this.url("/rgroups", {}), postOptions(body, signal));
  }

  /** Return a file with the R groups of a series. */
  rgroupsFile(body: RgroupsRequest, format: RgroupsFormat, signal?: AbortSignal): Promise<Blob> {
    const { headers, ...options } = postOptions(body, signal);
    const fileOptions = { ...options, headers: { ...headers, Accept: RGROUPS_MEDIA_TYPES[format] } };
    return request(this.url("/rgroups", {}), fileOptions, (response) => response.blob());
  }

  /** Return one page of transformations between matched molecular pairs. */
  matchedPairs(body: MatchedPairsRequest, signal?: AbortSignal): Promise<MatchedPairsPage> {
    return fetchJson(this.url("/matched-pairs", {}), postOptions(body, signal));
  }

  /** Return one page of transformations that can be applied to an item. */
  itemMatchedPairs(id: number, parameters: Parameters, signal?: AbortSignal): Promise<ItemMatchedPairsPage> {
    return this.get(`/items/${id}/matched-pairs`, parameters, signal);
  }

  /** Return one page of the scaffold tree of a series. */
  scaffolds(body: ScaffoldTreeRequest, signal?: AbortSignal): Promise<ScaffoldTreePage> {
    return fetchJson(this.url("/scaffolds", {}), postOptions(body, signal));
  }

  /** Return the coordinates of all items on the map, as JSON Lines. */
  map(parameters: Parameters, signal?: AbortSignal): Promise<string> {
    return request(this.url("/map", parameters), { signal, headers: { Accept: NDJSON } }, (response) => response.text());
  }

  /** Pick a diverse subset of the collection or of the items that match a request. */
  pick(body: components["schemas"]["PickBody"], signal?: AbortSignal): Promise<PickReply> {
    return fetchJson(this.url("/pick", {}), postOptions(body, signal));
  }

  /**
   * Return the path with the fewest edges, among these the one with the largest minimum similarity; null if the items
   * are too far apart.
   */
  async path(from: number, to: number, min_similarity: number, signal?: AbortSignal): Promise<Step[] | null> {
    return (await this.get<PathReply>("/paths", { from, to, min_similarity }, signal)).path;
  }

  /** Return the similarity of two items; null if no edge joins them. */
  async edgeSimilarity(a: number, b: number, signal?: AbortSignal): Promise<number | null> {
    const { path } = await this.get<PathReply>("/paths", { from: a, to: b, max_hops: 1 }, signal);
    return path?.[1]?.similarity ?? null;
  }

  /** Return one page of connected components, the largest first. */
  components(
    parameters: { min_similarity: number; cursor: string | null },
    signal?: AbortSignal,
  ): Promise<ComponentsPage> {
    return this.get("/components", parameters, signal);
  }

  /** Return a connected component and the components it splits into as the threshold rises. */
  component(id: number, min_similarity: number, signal?: AbortSignal): Promise<ComponentReply> {
    return this.get(`/components/${id}`, { min_similarity, limit: 1 }, signal);
  }

  /** Return one page of rejected records, in input order. */
  rejections(parameters: { limit: number; cursor: string | null }, signal?: AbortSignal): Promise<RejectionsPage> {
    return this.get("/rejections", parameters, signal);
  }

  /** Return the mean similarity of item pairs by their distance in edges. */
  async hops(signal?: AbortSignal): Promise<Hop[]> {
    return (await this.get<HopsReply>("/hops", {}, signal)).hops;
  }

  /** Return the available reports about the collection. */
  async reports(signal?: AbortSignal): Promise<ReportSummary[]> {
    return (await this.get<ReportsReply>("/reports", {}, signal)).reports;
  }

  /** Return the URL of the charts of a report. */
  chartsUrl(report: string): string {
    return this.url(`/reports/${encodeURIComponent(report)}.svg`, {});
  }

  /** Sample the positive set of an item, as a trainer would. */
  positives(id: number, parameters: { policy: string; k: number; seed: number }, signal?: AbortSignal): Promise<PositivesReply> {
    return this.get(`/items/${id}/positives`, parameters, signal);
  }

  /** Export items or edges as a file. */
  export(body: ExportRequest, signal?: AbortSignal): Promise<Blob> {
    return request(this.url("/export", {}), postOptions(body, signal), (response) => response.blob());
  }

  /**
   * Return the URL of an item's depiction, optionally aligned with another structure.
   *
   * @param bondLength - in pixels, so that several depictions have the same scale; null to fill the depiction.
   * @param substructure - the substructure whose matches are highlighted, unless the depiction is aligned.
   */
  depictionUrl(
    item: { id: number },
    size: Size,
    alignment: Alignment | null = null,
    bondLength: number | null = null,
    substructure: Substructure | null = null,
  ): string {
    const marks = alignment === null && substructure !== null ? { substructure: JSON.stringify(substructure) } : alignmentParameters(alignment);
    return this.url(`/items/${item.id}/depiction.svg`, { ...size, bond_length: bondLength, ...marks });
  }

  /** Return the URL of an item's depiction, aligned with the core of an R-group table. */
  coreDepictionUrl(item: { id: number }, size: Size, core: string): string {
    return this.url(`/items/${item.id}/depiction.svg`, { ...size, core, mark: "nothing" });
  }

  /** Return the URL of the depiction of a part of a molecule, whose `*` atoms are attachment points. */
  fragmentDepictionUrl(smiles: string, size: Size): string {
    return this.url("/structure.svg", { smiles, ...size, fragment: "true" });
  }

  /** Return the URL of a structure's depiction, optionally aligned with another structure. */
  structureDepictionUrl(smiles: string, size: Size, alignment: Alignment | null = null): string {
    return this.url("/structure.svg", { smiles, ...size, ...alignmentParameters(alignment) });
  }

  /** Return a reply as an Arrow stream. A request with a body uses POST. */
  arrow(path: string, parameters: Parameters, body: unknown, signal?: AbortSignal): Promise<ArrayBuffer> {
    const { headers, ...options } = body === null ? { signal } : postOptions(body, signal);
    const arrowOptions = { ...options, headers: { ...headers, Accept: "application/vnd.apache.arrow.stream" } };
    return request(this.url(path, parameters), arrowOptions, (response) => response.arrayBuffer());
  }

  /** Return the rows of a reply in JSON Lines. */
  private rows<Row>(path: string, body: unknown, signal?: AbortSignal): Promise<Row[]> {
    const { headers, ...options } = postOptions(body, signal);
    const rowsOptions = { ...options, headers: { ...headers, Accept: NDJSON } };
    return request(this.url(path, {}), rowsOptions, async (response) => {
      const lines = (await response.text()).split("\n").filter(Boolean);
      return lines.map((line) => JSON.parse(line) as Row);
    });
  }

  private get<Reply>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<Reply> {
    return fetchJson(this.url(path, parameters), { signal });
  }

  private url(path: string, parameters: Parameters): string {
    const base = `/v1/collections/${encodeURIComponent(this.collection)}`;
    return base + path + queryString({ ...parameters, generation: this.generation });
  }
}
