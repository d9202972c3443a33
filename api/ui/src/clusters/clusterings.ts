import { type Address, type Method, METHODS } from "../address";
import type { Kind, RankedCluster } from "../api/replies";
import { formatterOf, similarityText } from "../results/columns";

/** Name of the clusters of each method. Clusters of single linkage are connected parts of the similarity graph. */
export const METHOD_NAMES: Record<Method, string> = {
  butina: "Butina clusters",
  scaffold: "Bemis-Murcko scaffolds",
  single: "Components",
};

/** Return the methods that cluster items of a kind. */
export function methodsOf(kind: Kind): Method[] {
  return METHODS.filter((method) => method !== "scaffold" || kind === "molecule");
}

/** Return the title of all clusters of a method, with the threshold unless it is not known yet. */
export function clusteringTitle(method: Method, threshold: number | null): string {
  if (threshold === null || method === "scaffold") return METHOD_NAMES[method];
  return `${METHOD_NAMES[method]} at ${method === "single" ? "similarity ≥ " : ""}${thresholdText(threshold)}`;
}

/** Return that title as a part of a sentence: methods that are named after people keep their capital. */
export function titleInSentence(method: Method, threshold: number | null): string {
  const title = clusteringTitle(method, threshold);
  return method === "single" ? title.charAt(0).toLowerCase() + title.slice(1) : title;
}

/** Return the noun for one cluster of a method. */
export function clusterNoun(method: Method): string {
  return method === "single" ? "component" : "cluster";
}

/** Return that noun with a capital. */
export function clusterHeading(method: Method): string {
  const noun = clusterNoun(method);
  return noun.charAt(0).toUpperCase() + noun.slice(1);
}

/** Format a threshold with two decimals. One between two hundredths has three. */
export function thresholdText(threshold: number): string {
  const text = threshold.toFixed(2);
  return Math.abs(Number(text) - threshold) < 1e-9 ? text : similarityText(threshold);
}

/** An order of clusters. */
export interface ClusterOrder {
  by: "size" | "mean" | "sd";
  descending: boolean;
}

/** Accepted values of `sort` in the address, with the orders that they stand for. The first one is the default. */
export const ORDERS: Record<string, ClusterOrder> = {
  "-size": { by: "size", descending: true },
  size: { by: "size", descending: false },
  "-mean": { by: "mean", descending: true },
  mean: { by: "mean", descending: false },
  "-sd": { by: "sd", descending: true },
  sd: { by: "sd", descending: false },
};

const DEFAULT_ORDER = "-size";
const MIN_SUMMARIZED = 3; // items of a cluster whose mean and spread say something

/**
 * Return the key of the order of an address, and the smallest size of a listed cluster. Without a property, clusters can
 * only be ordered by size.
 */
export function orderOf({ sort, minCount }: Pick<Address, "sort" | "minCount">, hasProperty: boolean): { key: string; minSize: number } {
  const order = ORDERS[sort ?? ""];
  const key = order && (hasProperty || order.by === "size") ? sort! : DEFAULT_ORDER;
  return { key, minSize: minCount ?? defaultMinSize(key) };
}

/** Return the smallest size of a cluster that an order lists by default. */
export function defaultMinSize(key: string): number {
  return ORDERS[key]?.by === "size" ? 1 : MIN_SUMMARIZED;
}

type Summarized = Pick<RankedCluster, "range" | "sd" | "matches">;

/**
 * Return a function that describes the values of the property in a cluster, with the same decimals for all clusters. It
 * returns null without a property.
 */
export function summarizerOf(clusters: readonly Summarized[]): (cluster: Summarized) => { range: string; mean: string } | null {
  const formatBound = formatterOf(clusters.flatMap(({ range }) => [range?.min, range?.max]));
  const formatMean = formatterOf(clusters.flatMap(({ range, sd }) => [range?.mean, sd]));
  return ({ range, sd, matches }) => {
    if (range === null) return null;
    if (range.min === null) return { range: "no values", mean: "" };
    const missing = range.values < matches ? `, ${range.values.toLocaleString("en")} with a value` : "";
    return { range: `${formatBound(range.min)} to ${formatBound(range.max)}`, mean: `mean ${formatMean(range.mean)}${sd === null ? "" : ` ± ${formatMean(sd)}`}${missing}` };
  };
}
