import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import type { Component } from "../api/replies";
import { climbTree } from "./trunk";

const cluster = (id: number, size: number, similarity: number | null): Component => ({ id, size, medoid: id, similarity });

/** Items 0 to 9: item 9 splits off first, then item 8, then items 4 to 7 as a cluster, then all others at once. */
const CHILDREN: Record<number, Component[]> = {
  0.4: [cluster(0, 9, 0.5), cluster(9, 1, null)],
  0.5: [cluster(0, 8, 0.6), cluster(8, 1, null)],
  0.6: [cluster(0, 4, 0.7), cluster(4, 4, 0.9)],
  0.7: [cluster(0, 1, null), cluster(1, 1, null), cluster(2, 1, null), cluster(3, 1, null)],
};
const client = {
  async component(id: number, similarity: number) {
    const children = CHILDREN[similarity] ?? [];
    const size = children.reduce((sum, child) => sum + child.size, 0);
    return { component: cluster(id, size, similarity), children, children_total: children.length + 5, named: [{ id }] };
  },
} as unknown as Client;
const signal = new AbortController().signal;

describe("a trunk", () => {
  it("follows the largest part and merges consecutive splits of single items", async () => {
    const { splits, top, items } = await climbTree(client, cluster(0, 10, 0.4), signal);
    expect(splits.map(({ cluster, lastSimilarity, branches }) => [cluster.size, lastSimilarity, branches.map(({ id }) => id)])).toEqual([
      [10, 0.5, [9, 8]],
      [8, 0.6, [4]],
      [4, 0.7, [1, 2, 3]],
    ]);
    expect(splits[0]?.unlistedCount).toBe(10);
    expect(top?.size).toBe(1);
    expect([...items.keys()]).toEqual([0]);
  });

  it("loads a few splits at a time", async () => {
    const ladder = {
      async component(id: number, similarity: number) {
        const children = [cluster(0, 40, similarity + 0.02), cluster(100 * similarity, 2, 1)];
        return { component: cluster(id, 42, similarity), children, children_total: 2, named: [] };
      },
    } as unknown as Client;
    const first = await climbTree(ladder, cluster(0, 42, 0), signal);
    expect(first.splits.length).toBe(8);
    const second = await first.next!(signal);
    expect(second.splits.map((split) => split.cluster.similarity)).toEqual(
      Array.from({ length: 16 }, (_, step) => expect.closeTo(0.02 * step)),
    );
  });

  it("is empty for a single item and above the last split", async () => {
    for (const top of [null, cluster(3, 1, null)])
      expect(await climbTree(client, top, signal)).toEqual({ splits: [], top, items: new Map(), next: null });
  });
});
