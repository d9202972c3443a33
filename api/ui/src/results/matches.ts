import type { Client } from "../api/client";
import type { ItemProperties } from "./columns";
import { type FilterAddress, filterRequest } from "./results";

const PAGE_SIZE = 1000; // as many items as the API returns at once

/** Return the ids of those of some items, at most 1,000, that match the filters of an address. */
export async function loadMatches(client: Client, ids: number[], address: FilterAddress, properties: ItemProperties, signal: AbortSignal): Promise<ReadonlySet<number>> {
  const request = filterRequest(address, properties);
  const listedIds = new Set(request.ids ?? ids);
  const page = await client.query({ ...request, ids: ids.filter((id) => listedIds.has(id)), columns: [], limit: PAGE_SIZE }, signal);
  return new Set(page.items.map(({ id }) => id));
}
