import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import type { Component } from "../api/replies";
import { climbTree } from "./trunk";

const component = (id: number, size: number, similarity: number | null): Component => ({ id, size, medoid: id, similarity });

/** Items 0 to 9: item 9 splits off first, then item 8, then items 4 to 7 as a component, then all others at once. */
const CHILDREN: Record<number, Component[]> = {
  0.4: [component(0, 9, 0.5), component(9, 1, null)],
  0.5: [component(0, 8, 0.6), component(8, 1, null)],
  0.6: [component(0, 4, 0.7), component(4, 4, 0.9)],
  0.7: [component(0, 1, null), component(1, 1, null), component(2, 1, null), component(3, 1, null)],
};
const client = {
  async component(id: number, similarity: number) {
    const children = CHILDREN[similarity] ?? [];
    const size = children.reduce((sum, child) => sum + child.size, 0);
    return { component: component(id, size, similarity), children, children_total: children.length + 5, named: [{ id }] };
  },
} as unknown as Client;
const signal = new AbortController().signal;

describe("a trunk", () => {
  it("follows the largest part and merges consecutive splits of single items", async () => {
    const { splits, top, items } = await climbTree(client, component(0, 10, 0.4), signal);
    expect(splits.map(({ component, lastSimilarity, branches }) => [component.size, lastSimilarity, branches.map(({ id }) => id)])).toEqual([
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
        const children = [component(0, 40, similarity + 0.02), component(100 * similarity, 2, 1)];
        return { component: component(id, 42, similarity), children, children_total: 2, named: [] };
      },
    } as unknown as Client;
    const first = await climbTree(ladder, component(0, 42, 0), signal);
    expect(first.splits.length).toBe(8);
    const second = await first.next!(signal);
    expect(second.splits.map((split) => split.component.similarity)).toEqual(
      Array.from({ length: 16 }, (_, step) => expect.closeTo(0.02 * step)),
    );
  });

  it("is empty for a single item and above the last split", async () => {
    for (const top of [null, component(3, 1, null)])
      expect(await climbTree(client, top, signal)).toEqual({ splits: [], top, items: new Map(), next: null });
  });
});
