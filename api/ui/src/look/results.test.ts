import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import type { Item } from "../api/replies";
import type { Reading } from "../find/reading";
import { upTo } from "../paged";
import { ask } from "./results";

const item = (id: number): Item => ({
  id,
  smiles: `item ${id}`,
  names: [],
  inchikey: null,
  properties: {},
  degree: 0,
  dropped: 0,
});
const stored: Reading = { as: "structure", smiles: "item 0", item: item(0) };
const novel: Reading = { as: "structure", smiles: "C", item: null };

/** A hierarchy in which item 0 has so many neighbours, and a search that finds itself first. */
class Hub {
  constructor(readonly degree: number) {}

  async neighbors(_: number, { limit, cursor }: { limit: number; cursor: string | null }) {
    const begin = Number(cursor ?? 0);
    const end = Math.min(begin + limit, this.degree);
    const neighbors = Array.from({ length: end - begin }, (_, k) => ({ item: item(begin + k + 1), similarity: 0.5 }));
    const next = end < this.degree ? String(end) : null;
    return { generation: "", item: item(0), neighbors, total: this.degree, capped: true, next_cursor: next };
  }

  async search({ smiles, limit, min_similarity }: { smiles: string; limit: number; min_similarity: number | null }) {
    const hits = Array.from({ length: Math.min(limit, this.degree) }, (_, id) => ({ item: item(id), similarity: 1 }));
    const query = { smiles, id: smiles === "item 0" ? 0 : null };
    return { generation: "", query, hits, total: min_similarity === null ? null : this.degree };
  }
}

const question = (degree: number, subject: Reading, exact = false, minSimilarity: number | null = null) => ({
  client: new Hub(degree) as unknown as Client,
  subject,
  exact,
  minSimilarity,
});
const signal = new AbortController().signal;

describe("results", () => {
  it("of a stored item are its neighbours, page after page", async () => {
    let found = await ask(question(250, stored), signal);
    expect([found.hits.length, found.total, found.capped]).toEqual([100, 250, true]);
    while (found.next) found = await found.next(signal);
    expect(found.hits.map((hit) => hit.item.id)).toEqual(Array.from({ length: 250 }, (_, k) => k + 1));
  });

  it("come in as many pages as are asked for, or there are", async () => {
    for (const [pages, hits] of [[2, 200], [3, 250], [9, 250]] as const)
      expect((await upTo(pages, ask(question(250, stored), signal), signal)).hits.length).toBe(hits);
  });

  it("of a new structure are compared with all, as far as a search reaches", async () => {
    let found = await ask(question(5000, novel), signal);
    expect([found.hits.length, found.total]).toEqual([100, null]);
    while (found.next) found = await found.next(signal);
    expect(found.hits.length).toBe(1000);
  });

  it("of a new structure are counted from a threshold on", async () => {
    const found = await ask(question(50, novel, false, 0.4), signal);
    expect([found.hits.length, found.total, found.least]).toEqual([50, 50, 0.4]);
  });

  it("leave the query itself out, and uncounted", async () => {
    const found = await ask(question(50, stored, true, 0.4), signal);
    expect([found.hits.length, found.total, found.next]).toEqual([49, 49, null]);
    expect(found.hits.every((hit) => hit.item.id !== 0)).toBe(true);
  });
});
