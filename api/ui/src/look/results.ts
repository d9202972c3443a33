import type { Address } from "../address";
import type { Client } from "../api/client";
import type { components } from "../api/openapi";
import type { QueryPage } from "../api/replies";
import { asked as filtered } from "../filter/conditions";
import type { Reading } from "../find/reading";
import type { Paged } from "../paged";
import { type Column, order, type PropertyKinds } from "./columns";
import type { ComparedItem } from "./item";

/** What the API is asked for: which items, which of these pass, and in which order. */
export type Asked = components["schemas"]["QueryFields"];

const FIRST = 100; // is seen at once
const FURTHER = 1000; // as many as one reply holds

/** What was found so far, in order. */
export interface Found extends Paged<Found> {
  hits: ComparedItem[];
  /** How many there are. */
  total: number;
}

/** The first page. */
export function ask(client: Client, asked: Asked, signal: AbortSignal): Promise<Found> {
  return page(client, asked, [], null, signal);
}

async function page(
  client: Client,
  asked: Asked,
  before: ComparedItem[],
  cursor: string | null,
  signal: AbortSignal,
): Promise<Found> {
  const reply = await client.query({ ...asked, limit: cursor === null ? FIRST : FURTHER, cursor }, signal);
  const hits = [...before, ...reply.items.map(hit)];
  const rest = reply.next_cursor;
  return {
    hits,
    total: reply.total,
    next: rest === null ? null : (later) => page(client, asked, hits, rest, later),
  };
}

function hit({ similarity, ...item }: QueryPage["items"][number]): ComparedItem {
  return { item, similarity };
}

/** Whether a structure is compared with the whole collection, instead of reading the hierarchy. */
export function searches(subject: Reading, exact: boolean): boolean {
  return subject.smiles !== null && (exact || subject.item === null);
}

/** What there is to choose from around a subject: its neighbours, or all that it is compared with. */
export function around(subject: Reading, exact: boolean, minSimilarity: number | null): Asked {
  if (subject.smiles !== null && searches(subject, exact))
    return { similar: { smiles: subject.smiles, min_similarity: minSimilarity, itself: false } };
  if (subject.item === null) return { ids: [] };
  return { neighbors_of: { id: subject.item.id, min_similarity: minSimilarity } };
}

/** Those of a source that pass what the address says, in its order. */
export function passing(source: Asked, address: Address, properties: PropertyKinds, columns: Column[]): Asked {
  const filters = filtered(address.filters, properties);
  const { name, substructure } = address;
  return { ...source, filters, name, substructure, sort: order(columns, address.sort) };
}

/** Whether something is asked of items. */
export function limited({ filters, name, substructure }: Address): boolean {
  return filters.length > 0 || name !== null || substructure !== null;
}
