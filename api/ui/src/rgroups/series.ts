import type { Address, Method } from "../address";
import type { Client } from "../api/client";
import { Failure } from "../api/request";
import type { Kind } from "../api/replies";
import { clusterNoun, titleInSentence } from "../clusters/clusterings";
import { decodeIds } from "../lists/idEncoding";
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
export type SeriesAddress = Pick<Address, "cluster" | "method" | "minSimilarity" | "scaffold" | "onlyIds" | "listName">;

/**
 * Return the source of a series: a cluster, or all items. Filters of the address narrow it, and the name mentions a list
 * and a scaffold.
 *
 * @throws Failure if the address names a cluster of an unknown item.
 */
export async function loadSeries(client: Client, kind: Kind, address: SeriesAddress, signal: AbortSignal): Promise<Series> {
  const { cluster, scaffold, onlyIds, listName } = address;
  const ids = onlyIds === null ? null : decodeIds(onlyIds);
  const limits = [
    ...(ids === null ? [] : [listName === null ? `${ids.length.toLocaleString("en")} selected compounds` : `the list “${listName}” (${ids.length.toLocaleString("en")} compounds)`]),
    ...(scaffold === null ? [] : [scaffold ? `compounds with the scaffold ${scaffold}` : "compounds without rings"]),
  ];
  if (cluster === null) return { source: {}, name: limits.join(" and ") || "all compounds", isEverything: limits.length === 0 };
  const item = (await interpret(client, kind, cluster, signal)).candidates[0]?.item;
  if (!item) throw new Failure(404, "Item not found", `This collection has no item ${cluster}.`, "Choose one of all clusters.");
  const clustering: { method: Method; threshold: number | null } = {
    method: address.method,
    threshold: address.method === "scaffold" ? null : address.minSimilarity,
  };
  const { cluster: { id, size }, threshold } = await client.clusterOf(item.id, clustering, signal);
  const clusterName = `${clusterNoun(address.method)} ${id} of the ${titleInSentence(address.method, threshold)} (${size.toLocaleString("en")} compounds)`;
  return { source: { cluster: { id, ...clustering } }, name: [clusterName, ...limits].join(" and "), isEverything: false };
}
