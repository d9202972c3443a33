import type { Address, NO_FILTERS } from "../address";
import type { Client } from "../api/client";
import type { components } from "../api/openapi";
import type { Item, QueryPage } from "../api/replies";
import { toFilters } from "../filter/conditions";
import type { Interpretation } from "../find/interpretation";
import { decodeIds } from "../lists/idEncoding";
import type { PagedList } from "../paging";
import { type Column, type ItemProperties, sortOrder } from "./columns";
import { withComputed } from "./computed";
import type { ComparedItem } from "./item";

/** Request for items: which items, which filters they must pass, and their order. */
export type ItemRequest = components["schemas"]["QueryFields"];

const FIRST_PAGE_SIZE = 100; // The first page is short, so that it shows at once.
const PAGE_SIZE = 1000; // as many as the API returns at once

/** Hits of the pages loaded so far, in order. */
export interface ResultPages extends PagedList<ResultPages> {
  hits: ComparedItem[];
  /** Number of all hits. */
  total: number;
}

/** Load the first page of hits, with the values of computed properties. */
export function loadFirstPage(client: Client, request: ItemRequest, computed: ItemProperties, signal: AbortSignal): Promise<ResultPages> {
  return loadPage(client, request, computed, [], null, signal);
}

async function loadPage(
  client: Client,
  request: ItemRequest,
  computed: ItemProperties,
  previousHits: ComparedItem[],
  cursor: string | null,
  signal: AbortSignal,
): Promise<ResultPages> {
  const reply = await client.query({ ...request, limit: cursor === null ? FIRST_PAGE_SIZE : PAGE_SIZE, cursor }, signal);
  const similarities = new Map(reply.items.map(({ id, similarity }) => [id, similarity]));
  const items = await withComputed(client, reply.items.map(toItem), computed, signal);
  const hits = [...previousHits, ...items.map((item) => ({ item, similarity: similarities.get(item.id) ?? null }))];
  const nextCursor = reply.next_cursor;
  return {
    hits,
    total: reply.total,
    next: nextCursor === null ? null : (nextSignal) => loadPage(client, request, computed, hits, nextCursor, nextSignal),
  };
}

function toItem({ similarity: _, computed: __, ...item }: QueryPage["items"][number]): Item {
  return item;
}

/** Whether the subject is compared with the whole collection instead of reading its stored neighbors. */
export function searchesCollection(subject: Interpretation, exact: boolean): boolean {
  return subject.smiles !== null && (exact || subject.item === null);
}

/** Return the request for the items around a subject: its neighbors, or the whole collection. */
export function sourceFor(subject: Interpretation, exact: boolean, minSimilarity: number | null): ItemRequest {
  if (subject.smiles !== null && searchesCollection(subject, exact))
    return { similar: { smiles: subject.smiles, min_similarity: minSimilarity, itself: false } };
  if (subject.item === null) return { ids: [] };
  return { neighbors_of: { id: subject.item.id, min_similarity: minSimilarity } };
}

/** The part of an address that limits all views to some items. */
export type FilterAddress = Pick<Address, keyof typeof NO_FILTERS>;

/** Return the request for the items that match the filters of an address. */
export function filterRequest(address: FilterAddress, properties: ItemProperties): ItemRequest {
  const { name, substructure, scaffold } = address;
  const ids = address.onlyIds === null ? null : decodeIds(address.onlyIds);
  return { filters: toFilters(address.filters, properties), name, substructure, scaffold, ids };
}

/** Return the request for those of some items that match a request. */
export function limitedTo(request: ItemRequest, ids: number[]): ItemRequest {
  const requestedIds = request.ids ? new Set(request.ids) : null;
  return { ...request, ids: requestedIds === null ? ids : ids.filter((id) => requestedIds.has(id)) };
}

/** Add the filters and the order of the address to a source. Ids of the source take precedence. */
export function withFilters(source: ItemRequest, address: Address, properties: ItemProperties, columns: Column[]): ItemRequest {
  return { ...filterRequest(address, properties), ...source, sort: sortOrder(columns, address.sort) };
}

/** Whether an address has filters. */
export function isFiltered({ filters, name, substructure, scaffold, onlyIds }: FilterAddress): boolean {
  return filters.length > 0 || [name, substructure, scaffold, onlyIds].some((condition) => condition !== null);
}
