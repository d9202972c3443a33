import { tableFromIPC } from "@uwdata/flechette";
import type { Client, ComparisonRequest } from "../api/client";
import type { ComparedItem, ComparisonPage, ComparisonRow, Relation } from "../api/replies";
import { formatCsv } from "../csv";
import type { Points } from "../map/points";
import type { PagedList } from "../paging";

/** Lowest similarity of a near duplicate while the address names none. */
export const DEFAULT_THRESHOLD = 0.7;

/** The relations in the order of the page, with their texts and colors. The colors differ for any kind of color vision. */
export const RELATIONS: Record<Relation, { title: string; count: keyof ComparisonPage["counts"]; color: string }> = {
  identical: { title: "Identical", count: "identical", color: "#0072b2" },
  "near duplicate": { title: "Near duplicates", count: "near_duplicates", color: "#009e73" },
  novel: { title: "Novel", count: "novel", color: "#d55e00" },
};

/** Compared items of the pages loaded so far. */
export interface ComparedPages extends PagedList<ComparedPages> {
  latestPage: ComparisonPage;
  rows: ComparedItem[];
}

/** Load a page of compared items after the pages before it. All pages compare the same generation. */
export async function loadComparedPage(client: Client, request: ComparisonRequest, previous: ComparedPages | null, cursor: string | null, signal: AbortSignal): Promise<ComparedPages> {
  const latestPage = await client.compare({ ...request, cursor }, signal);
  const pinnedRequest = { ...request, other_generation: latestPage.other_generation };
  const pages: ComparedPages = {
    latestPage,
    rows: [...(previous?.rows ?? []), ...latestPage.rows],
    next: latestPage.next_cursor === null ? null : (nextSignal) => loadComparedPage(client, pinnedRequest, pages, latestPage.next_cursor, nextSignal),
  };
  return pages;
}

/** The nearest item of each item of the other collection, in the order of the ids. */
export interface NearestItems {
  /** Id of the nearest item; -1 if there is none. */
  nearest: Int32Array;
  /** Similarity of that item; NaN if there is none. */
  similarity: Float64Array;
  relation: Relation[];
}

/** Load the nearest items of all items of the other collection. */
export async function loadNearest(client: Client, request: ComparisonRequest, signal: AbortSignal): Promise<NearestItems> {
  const table = tableFromIPC(new Uint8Array(await client.arrow("/compare/rows", {}, request, signal)));
  return {
    nearest: Int32Array.from(table.getChild("nearest").toArray() as ArrayLike<number | null>, (id) => id ?? -1),
    similarity: Float64Array.from(table.getChild("similarity").toArray() as ArrayLike<number | null>, (value) => value ?? NaN),
    relation: Array.from(table.getChild("relation").toArray() as ArrayLike<Relation>),
  };
}

/** Both collections on the map of the first one. */
export interface SharedMap {
  /** The items of the collection, then the items of the other one that have a nearest item. */
  points: Points;
  /** Id in the other collection of each of its points. */
  otherIds: Int32Array;
}

const OFFSET = 0.45; // Distance of an item from its nearest item, where 1 is the distance of points that are evenly spread.
const TURN = 2.4; // Angle between items with the same nearest item, in radians: the golden angle.

/** Place each item of the other collection next to its nearest item, so that both stay visible. The map begins at 0. */
export function shareMap(map: Points, nearest: Int32Array): SharedMap {
  const size = map.x.length;
  const otherIds = Int32Array.from(nearest.keys()).filter((id) => nearest[id]! >= 0);
  const places = new Uint32Array(size); // Number of items placed next to each item.
  const step = OFFSET / Math.sqrt(size || 1);
  const points: Points = {
    x: new Float32Array(size + otherIds.length),
    y: new Float32Array(size + otherIds.length),
    value: new Float64Array(size + otherIds.length).fill(NaN),
    cluster: new Int32Array(size + otherIds.length),
  };
  points.x.set(map.x);
  points.y.set(map.y);
  otherIds.forEach((id, index) => {
    const center = nearest[id]!;
    const place = places[center]!++;
    const distance = step * Math.sqrt(1 + place / 6);
    points.x[size + index] = map.x[center]! + distance * Math.cos(TURN * place);
    points.y[size + index] = map.y[center]! + distance * Math.sin(TURN * place);
  });
  for (const coordinates of [points.x, points.y]) {
    const start = coordinates.reduce((min, coordinate) => Math.min(min, coordinate), 0);
    coordinates.forEach((coordinate, index) => (coordinates[index] = coordinate - start)); // The map begins at 0.
  }
  return { points, otherIds };
}

/** Format compared items as CSV, with the collections in the names of the columns. */
export function comparisonCsv(rows: ComparisonRow[]): string {
  return formatCsv(
    rows.map(({ id, name, smiles, relation, similarity, nearest, nearest_name, nearest_smiles }) => ({
      id,
      name,
      smiles,
      relation,
      similarity,
      nearest_id: nearest,
      nearest_name,
      nearest_smiles,
    })),
  );
}
