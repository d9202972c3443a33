import type { Address } from "../address";
import type { Client } from "../api/client";
import type { components } from "../api/openapi";
import type { QueryPage } from "../api/replies";
import { toFilters } from "../filter/conditions";
import type { Interpretation } from "../find/interpretation";
import type { PagedList } from "../paging";
import { type Column, sortOrder, type PropertyKinds } from "./columns";
import type { ComparedItem } from "./item";

/** What the API is asked for: which items, which of these pass, and in which order. */
export type ItemRequest = components["schemas"]["QueryFields"];

const FIRST_PAGE_SIZE = 100; // is seen at once
const PAGE_SIZE = 1000; // as many as one reply holds

/** What was found so far, in order. */
export interface ResultPages extends PagedList<ResultPages> {
  hits: ComparedItem[];
  /** How many there are. */
  total: number;
}

/** The first page. */
export function loadFirstPage(client: Client, request: ItemRequest, signal: AbortSignal): Promise<ResultPages> {
  return loadPage(client, request, [], null, signal);
}

async function loadPage(
  client: Client,
  request: ItemRequest,
  previousHits: ComparedItem[],
  cursor: string | null,
  signal: AbortSignal,
): Promise<ResultPages> {
  const reply = await client.query({ ...request, limit: cursor === null ? FIRST_PAGE_SIZE : PAGE_SIZE, cursor }, signal);
  const hits = [...previousHits, ...reply.items.map(toHit)];
  const nextCursor = reply.next_cursor;
  return {
    hits,
    total: reply.total,
    next: nextCursor === null ? null : (nextSignal) => loadPage(client, request, hits, nextCursor, nextSignal),
  };
}

function toHit({ similarity, ...item }: QueryPage["items"][number]): ComparedItem {
  return { item, similarity };
}

/** Whether a structure is compared with the whole collection, instead of reading the hierarchy. */
export function searchesCollection(subject: Interpretation, exact: boolean): boolean {
  return subject.smiles !== null && (exact || subject.item === null);
}

/** What there is to choose from around a subject: its neighbours, or all that it is compared with. */
export function sourceFor(subject: Interpretation, exact: boolean, minSimilarity: number | null): ItemRequest {
  if (subject.smiles !== null && searchesCollection(subject, exact))
    return { similar: { smiles: subject.smiles, min_similarity: minSimilarity, itself: false } };
  if (subject.item === null) return { ids: [] };
  return { neighbors_of: { id: subject.item.id, min_similarity: minSimilarity } };
}

/** Those of a source that pass what the address says, in its order. */
export function withFilters(source: ItemRequest, address: Address, properties: PropertyKinds, columns: Column[]): ItemRequest {
  const filters = toFilters(address.filters, properties);
  const { name, substructure } = address;
  return { ...source, filters, name, substructure, sort: sortOrder(columns, address.sort) };
}

/** Whether something is asked of items. */
export function isFiltered({ filters, name, substructure }: Address): boolean {
  return filters.length > 0 || name !== null || substructure !== null;
}
