import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import type { Item } from "../api/replies";
import { loadNeighborhood, MAX_NODES } from "./neighborhood";

const SIZE = 3000;
const item = (id: number): Item => ({
  id,
  smiles: `item ${id}`,
  names: [],
  inchikey: null,
  properties: {},
  degree: 2 * 600,
  dropped: 0,
});

/** Fake API client of a ring: each item has an edge to 600 items on either side, and closer ones come first. */
const client = {
  async neighbors(id: number, { limit }: { limit: number }) {
    const offsets = Array.from({ length: 1200 }, (_, k) => (k % 2 ? 1 : -1) * ((k >> 1) + 1));
    const neighbors = offsets.slice(0, limit).map((step) => ({ item: item((id + step + SIZE) % SIZE), similarity: 0.5 }));
    return { neighbors };
  },
  async search() {
    return { hits: [item(5), item(9)].map((hit, index) => ({ item: hit, similarity: 0.9 - index / 10 })) };
  },
  async export({ ids }: { ids: number[] }) {
    const sorted = ids.toSorted((a, b) => a - b);
    const lines = sorted.slice(1).map((id, index) => `${sorted[index]},${id},${0.4 + (id % 10) / 20}`);
    return new Blob([["source,target,similarity", ...lines, ""].join("\n")]);
  },
} as unknown as Client;

const signal = new AbortController().signal;
const stored = { matchedBy: "id" as const, smiles: "item 0", item: item(0) };
const newStructure = { matchedBy: "structure" as const, smiles: "C", item: null };
const REQUEST = { client, subject: stored, itemSubset: null, minThreshold: 0.4, expandedItems: [] as Item[], additionalItems: [] as Item[] };

describe("a neighborhood", () => {
  it("holds the query and its most similar neighbors, with edges sorted by similarity", async () => {
    const { nodes, edges } = await loadNeighborhood(REQUEST, signal);
    expect(nodes.length).toBe(101);
    expect(nodes[0]?.item?.id).toBe(0);
    expect([...edges.similarity]).toEqual([...edges.similarity].sort((a, b) => b - a));
    // The fake export joins each item to the next id. Of their 1,200 edges, the first and the last item show one, the
    // others two.
    expect(nodes.filter(({ moreCount }) => moreCount === 1200 - 1).map(({ item }) => item?.id).sort()).toEqual([0, 2999]);
    expect(nodes.filter(({ moreCount }) => moreCount === 1200 - 2).length).toBe(99);
  });

  it("grows by an expanded item and 100 of its neighbors for each expansion", async () => {
    const { nodes } = await loadNeighborhood({ ...REQUEST, expandedItems: [item(0), item(1500), item(1500)] }, signal);
    expect(nodes.length).toBe(402);
    expect(new Set(nodes.map((node) => node.item?.id)).size).toBe(nodes.length);
  });

  it("stops at the largest number of nodes", async () => {
    const expandedItems = [...Array.from({ length: 20 }, () => item(0)), item(1500), item(700)];
    const { nodes } = await loadNeighborhood({ ...REQUEST, expandedItems }, signal);
    expect(nodes.length).toBe(MAX_NODES);
  });

  it("sends one request for an item that is expanded several times", async () => {
    let callCount = 0;
    const countingClient = { ...client, neighbors: (...parameters: [never]) => (callCount++, (client as any).neighbors(...parameters)) };
    const expandedItems = [item(7), item(1500), item(7), item(7)];
    const { nodes } = await loadNeighborhood({ ...REQUEST, client: countingClient as unknown as Client, expandedItems }, signal);
    expect([callCount, nodes.length]).toEqual([3, 101 + 300 + 101]);
  });

  it("holds additional items", async () => {
    const { nodes } = await loadNeighborhood({ ...REQUEST, additionalItems: [item(2000)] }, signal);
    expect(nodes.map((node) => node.item?.id)).toContain(2000);
  });

  it("holds only the given items if it is restricted to them", async () => {
    const itemSubset = [item(5), item(0), item(9)];
    const { nodes } = await loadNeighborhood({ ...REQUEST, subject: { ...stored, item: item(5) }, itemSubset }, signal);
    expect(nodes.map((node) => node.item?.id)).toEqual([5, 0, 9]);
  });

  it("of a new structure holds its search hits, joined to it", async () => {
    const { nodes, edges } = await loadNeighborhood({ ...REQUEST, subject: newStructure }, signal);
    expect(nodes.map((node) => [node.item?.id, node.similarity])).toEqual([[undefined, null], [5, 0.9], [9, 0.8]]);
    expect(edges.source.length).toBe(3);
  });
});
