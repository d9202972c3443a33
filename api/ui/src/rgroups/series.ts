import type { Address, Method } from "../address";
import { type Client, Failure } from "../api/client";
import type { Kind } from "../api/replies";
import { decodeIds } from "../basket/idEncoding";
import { interpret } from "../find/interpretation";
import type { ItemRequest } from "../results/results";

/** Where the compounds of a series come from, and the same in words. */
export interface Series {
  source: ItemRequest;
  name: string;
  /** Whether these are all items of the collection. */
  isEverything: boolean;
}

/** The part of an address that names the source of a series. */
export type SeriesAddress = Pick<Address, "cluster" | "method" | "minSimilarity" | "scaffold" | "basket">;

/**
 * Return the source of a series: the items of a basket link, a scaffold, a cluster, or all items. Filters of the address narrow it.
 *
 * @throws Failure if the address names a cluster of an unknown item, or a malformed basket.
 */
export async function loadSeries(client: Client, kind: Kind, address: SeriesAddress, signal: AbortSignal): Promise<Series> {
  const { cluster, scaffold, basket } = address;
  if (basket !== null) {
    const ids = decodeIds(basket);
    if (ids === null) throw new Failure(400, "Basket not readable", "This link contains no items.", "Copy the whole link.");
    return { source: { ids }, name: `${ids.length.toLocaleString("en")} selected compounds`, isEverything: false };
  }
  if (scaffold !== null) return { source: { scaffold }, name: scaffold ? `compounds with the scaffold ${scaffold}` : "compounds without rings", isEverything: false };
  if (cluster === null) return { source: {}, name: "all compounds", isEverything: true };
  const item = (await interpret(client, kind, cluster, signal)).candidates[0]?.item;
  if (!item) throw new Failure(404, "Item not found", `This collection has no item ${cluster}.`, "Choose one of all clusters.");
  const clustering: { method: Method; threshold: number | null } = {
    method: address.method,
    threshold: address.method === "scaffold" ? null : address.minSimilarity,
  };
  const { id, size } = await client.clusterOf(item.id, clustering, signal);
  return { source: { cluster: { id, ...clustering } }, name: `cluster ${id} (${size.toLocaleString("en")} compounds)`, isEverything: false };
}
