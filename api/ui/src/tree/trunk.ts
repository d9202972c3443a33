import type { Client } from "../api/client";
import type { Component, Item } from "../api/replies";
import type { PagedList } from "../paging";

const MAX_STEPS = 24; // requests for one page of splits
const SPLITS_PER_PAGE = 8; // splits of one page

/**
 * Parts that split off a component as the threshold rises. The largest remaining part is the trunk, which continues.
 */
export interface Split {
  component: Component;
  /**
   * Similarity above which the last of the branches is split off. The first one is split off above the component's own
   * similarity.
   */
  lastSimilarity: number;
  /** Branches, the largest first. Single items that split off one after another share one split. */
  branches: Component[];
  /** Number of parts that the API does not list: it lists 1,000. */
  unlistedCount: number;
}

/** The splits loaded so far. */
export interface Trunk extends PagedList<Trunk> {
  splits: Split[];
  /** Component in which the next page continues; null above the last split. */
  top: Component | null;
  /** Medoids and lowest members of the components, and of the 10 largest branches of each. */
  items: ReadonlyMap<number, Item>;
}

/** Load the first splits above a component. */
export function climbTree(client: Client, component: Component | null, signal: AbortSignal): Promise<Trunk> {
  return extendTrunk(client, { splits: [], top: component, items: new Map(), next: null }, signal);
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
    const split = { component, lastSimilarity: top.similarity, branches, unlistedCount: children_total - children.length };
    if (lastSplit && hasOnlySingles(lastSplit) && hasOnlySingles(split)) splits.splice(-1, 1, mergeSplits(lastSplit, split));
    else splits.push(split);
    top = next;
  }
  const extended: Trunk = { splits, top, items, next: null };
  if (top !== null && top.similarity !== null) extended.next = (nextSignal) => extendTrunk(client, extended, nextSignal);
  return extended;
}

/** Whether only single items split off. */
function hasOnlySingles({ branches }: Split): boolean {
  return branches.every(({ size }) => size === 1);
}

function mergeSplits(first: Split, next: Split): Split {
  const { component, branches, unlistedCount } = first;
  return {
    component,
    lastSimilarity: next.lastSimilarity,
    branches: [...branches, ...next.branches],
    unlistedCount: unlistedCount + next.unlistedCount,
  };
}
