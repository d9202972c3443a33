import type { Component } from "svelte";
import type { Part } from "../address";
import type { Client } from "../api/client";
import { Failure } from "../api/request";
import type { CollectionDetail, Damage } from "../api/replies";

/** What a part of the page is given. */
export interface PartProperties {
  client: Client;
  detail: CollectionDetail;
  /** Known damage of the generation; null if there is none. */
  damage: Damage | null;
}

type Module = { default: Component<PartProperties> };

/** The component of each part. It is loaded when the part is first opened. */
const MODULES: Record<Exclude<Part, "find" | "upload">, () => Promise<Module>> = {
  items: () => import("../items/Items.svelte"),
  plot: () => import("../plots/Plots.svelte"),
  list: () => import("../lookup/Lookup.svelte"),
  basket: () => import("../lists/Selection.svelte"),
  clusters: () => import("../clusters/Clustering.svelte"),
  cliffs: () => import("../cliffs/Cliffs.svelte"),
  rgroups: () => import("../rgroups/Rgroups.svelte"),
  scaffolds: () => import("../scaffolds/Scaffolds.svelte"),
  pairs: () => import("../matchedPairs/MatchedPairs.svelte"),
  map: () => import("../map/Map.svelte"),
  compare: () => import("../compare/Compare.svelte"),
  tree: () => import("../tree/Tree.svelte"),
  collection: () => import("../collection/About.svelte"),
};

/** Load the component of a part. */
export async function loadPart(part: Exclude<Part, "find" | "upload">): Promise<Component<PartProperties>> {
  const module = await MODULES[part]().catch(() => {
    throw new Failure(0, "View not loaded", "This view could not be loaded.", "Reload the page.");
  });
  return module.default;
}
