import type { Client } from "../api/client";
import type { Component, Item } from "../api/replies";
import type { Paged } from "../paged";

const STEPS = 24; // asked for at a time, at most
const SPLITS = 8; // wanted at a time

/** What comes off a cluster as the threshold rises; the largest part is the trunk, which goes on. */
export interface Split {
  cluster: Component;
  /** Above this the last of the branches comes off; the first above the cluster's own similarity. */
  until: number;
  /** Largest first. Single items that come off one after another are one split. */
  branches: Component[];
  /** Parts that the API leaves out: it names 1,000. */
  unnamed: number;
}

/** The splits so far, and where it goes on; null where all came off. */
export interface Trunk extends Paged<Trunk> {
  splits: Split[];
  top: Component | null;
  /** Medoids and lowest members of the clusters, and of the 10 largest branches of each. */
  items: ReadonlyMap<number, Item>;
}

/** The first few steps up from a cluster. */
export function climb(client: Client, cluster: Component | null, signal: AbortSignal): Promise<Trunk> {
  return further(client, { splits: [], top: cluster, items: new Map(), next: null }, signal);
}

async function further(client: Client, from: Trunk, signal: AbortSignal): Promise<Trunk> {
  const splits = [...from.splits];
  const items = new Map(from.items);
  let top = from.top;
  for (let step = 0; step < STEPS && splits.length < from.splits.length + SPLITS; step++) {
    if (top === null || top.similarity === null) break;
    const { component, children, children_total, named } = await client.component(top.id, top.similarity, signal);
    for (const item of named) items.set(item.id, item);
    const [next = null, ...branches] = children;
    const last = splits.at(-1);
    const split = { cluster: component, until: top.similarity, branches, unnamed: children_total - children.length };
    if (last && crumbles(last) && crumbles(split)) splits.splice(-1, 1, joined(last, split));
    else splits.push(split);
    top = next;
  }
  const trunk: Trunk = { splits, top, items, next: null };
  if (top !== null && top.similarity !== null) trunk.next = (later) => further(client, trunk, later);
  return trunk;
}

/** Whether nothing but single items comes off. */
function crumbles({ branches }: Split): boolean {
  return branches.every(({ size }) => size === 1);
}

function joined(one: Split, next: Split): Split {
  const { cluster, branches, unnamed } = one;
  return {
    cluster,
    until: next.until,
    branches: [...branches, ...next.branches],
    unnamed: unnamed + next.unnamed,
  };
}
