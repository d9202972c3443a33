import type { Client, ScaffoldTreeRequest } from "../api/client";
import type { Scaffold } from "../api/replies";
import type { PagedList } from "../paging";

const PAGE_SIZE = 50;

/** Scaffolds right below one scaffold, or roots of the tree, of the pages loaded so far. */
export interface ScaffoldPages extends PagedList<ScaffoldPages> {
  scaffolds: Scaffold[];
  /** Number of all of them. */
  total: number;
  /** Number of compounds of the series. */
  compounds: number;
}

/** Load the first page of the scaffolds right below `parent`; null for the roots. */
export function loadScaffolds(client: Client, request: ScaffoldTreeRequest, parent: string | null, signal: AbortSignal): Promise<ScaffoldPages> {
  return loadPage(client, { ...request, parent, levels: 1, limit: PAGE_SIZE }, [], null, signal);
}

async function loadPage(
  client: Client,
  request: ScaffoldTreeRequest,
  previous: Scaffold[],
  cursor: string | null,
  signal: AbortSignal,
): Promise<ScaffoldPages> {
  const reply = await client.scaffolds({ ...request, cursor }, signal);
  const scaffolds = [...previous, ...reply.scaffolds];
  const nextCursor = reply.next_cursor;
  return {
    scaffolds,
    total: reply.total,
    compounds: reply.items,
    next: nextCursor === null ? null : (nextSignal) => loadPage(client, request, scaffolds, nextCursor, nextSignal),
  };
}
