import type { Client } from "../api/client";
import type { Component, Item } from "../api/replies";
import type { PagedList } from "../paging";

const MAX_STEPS = 24; // asked for at a time, at most
const SPLITS_PER_PAGE = 8; // wanted at a time

/** What comes off a cluster as the threshold rises; the largest part is the trunk, which goes on. */
export interface Split {
  cluster: Component;
  /** Above this the last of the branches comes off; the first above the cluster's own similarity. */
  lastSimilarity: number;
  /** Largest first. Single items that come off one after another are one split. */
  branches: Component[];
  /** Parts that the API leaves out: it names 1,000. */
  unlistedCount: number;
}

/** The splits so far, and where it goes on; null where all came off. */
export interface Trunk extends PagedList<Trunk> {
  splits: Split[];
  top: Component | null;
  /** Medoids and lowest members of the clusters, and of the 10 largest branches of each. */
  items: ReadonlyMap<number, Item>;
}

/** The first few steps up from a cluster. */
export function climbTree(client: Client, cluster: Component | null, signal: AbortSignal): Promise<Trunk> {
  return extendTrunk(client, { splits: [], top: cluster, items: new Map(), next: null }, signal);
}

async function extendTrunk(client: Client, trunk: Trunk, signal: AbortSignal): Promise<Trunk> {
  const splits = [...trunk.splits];
  const items = new Map(trunk.items);
  let top = trunk.top;
  for (let step = 0; step < MAX_STEPS && splits.length < trunk.splits.length + SPLITS_PER_PAGE; step++) {
    if (top === null || top.similarity === null) break;
    const { component, children, children_total, named } = await client.component(top.id, top.similarity, signal);
    for (const item of named) items.set(item.id, item);
    const [next = null, ...branches] = children;
    const lastSplit = splits.at(-1);
    const split = { cluster: component, lastSimilarity: top.similarity, branches, unlistedCount: children_total - children.length };
    if (lastSplit && isSingleItems(lastSplit) && isSingleItems(split)) splits.splice(-1, 1, mergeSplits(lastSplit, split));
    else splits.push(split);
    top = next;
  }
  const extended: Trunk = { splits, top, items, next: null };
  if (top !== null && top.similarity !== null) extended.next = (nextSignal) => extendTrunk(client, extended, nextSignal);
  return extended;
}

/** Whether nothing but single items comes off. */
function isSingleItems({ branches }: Split): boolean {
  return branches.every(({ size }) => size === 1);
}

function mergeSplits(first: Split, next: Split): Split {
  const { cluster, branches, unlistedCount } = first;
  return {
    cluster,
    lastSimilarity: next.lastSimilarity,
    branches: [...branches, ...next.branches],
    unlistedCount: unlistedCount + next.unlistedCount,
  };
}
