import { describe, expect, it } from "vitest";
import { type Address, alike, changed, format, parse, START } from "./address";

const FULL: Address = {
  collection: "a collection & more",
  part: "tree",
  q: "C[N+](C)(C)C#N/C=C\\%",
  generation: "0".repeat(64),
  minSimilarity: 0.65,
  maxSimilarity: 0.95,
  exact: true,
  filters: [
    { property: "log P", min: -1.5, max: null, contains: null },
    { property: 'a "class", &', min: null, max: null, contains: "acid=%" },
  ],
  name: "asp",
  substructure: { smarts: "[#6]=,:[N+;!H0]%" },
  basket: "AAEC_-",
  view: "tiles",
  sort: "-property:log P",
  columns: ["log P", "a,b", "%"],
  pages: 3,
  mark: "shared",
  expanded: ["CCO", "#7", "CCO"],
  cluster: "c1ccccc1",
  chosen: "[O-][n+]1ccccc1",
  method: "scaffold",
  property: "log P",
  by: "sali",
  policy: "second_order",
  seed: 2 ** 40,
  colour: "log P",
  from: "C#N",
  to: "CC",
};

describe("the address", () => {
  it("says everything that it reads back", () => {
    expect(parse(format(FULL))).toEqual(FULL);
    const drawn = { ...FULL, substructure: { smiles: "C1=CC=NC=C1" } };
    expect(parse(format(drawn))).toEqual(drawn);
  });

  it("says nothing where nothing was chosen", () => {
    expect(format(START)).toBe("");
    expect(parse("")).toEqual(START);
  });

  it("takes what was around a query along, but not to another one", () => {
    expect(changed(FULL, { colour: null })).toEqual({ ...FULL, colour: null });
    const nothing = { part: "find", pages: 1, expanded: [], cluster: null, chosen: null, seed: 0, from: null, to: null };
    const unlimited = { exact: false, filters: [], name: null, substructure: null, basket: null };
    expect(changed(FULL, { q: "C" })).toEqual({
      ...FULL,
      q: "C",
      minSimilarity: null,
      maxSimilarity: null,
      ...nothing,
      ...unlimited,
    });
    expect(changed(FULL, { q: "C", minSimilarity: 0.5 }).minSimilarity).toBe(0.5);
  });

  it("begins another list at its first page", () => {
    const limits = [{ minSimilarity: 0.7 }, { maxSimilarity: 0.9 }, { exact: false }];
    const lists = [...limits, { cluster: null }, { part: "find" }, { q: "C" }] as const;
    expect(lists.map((list) => changed(FULL, list).pages)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(changed(FULL, { sort: null }).pages).toBe(1);
    expect(changed(FULL, { filters: [] }).pages).toBe(1);
    expect(changed(FULL, { minSimilarity: 0.65, chosen: null, columns: null }).pages).toBe(3);
    expect(parse("?pages=1000000").pages).toBe(50);
  });

  it("keeps lists that say the same", () => {
    const [before, next] = [parse(format(FULL)), parse(format({ ...FULL, columns: ["log P"] }))];
    expect(alike(next, before)).toEqual(next);
    expect(alike(next, before).expanded).toBe(before.expanded);
    expect(alike(next, before).filters).toBe(before.filters);
  });

  it("tells no columns from the first few", () => {
    expect(parse(format({ ...START, columns: [] })).columns).toEqual([]);
  });

  it.each(["0", "-1", "1.01", "NaN", "x", ""])("takes no threshold from %j", (text) => {
    expect(parse(`?min_similarity=${text}`).minSimilarity).toBeNull();
  });

  it.each(["-1", "1.5", "1e3", "x", "", "9".repeat(16)])("takes no seed from %j", (text) => {
    expect(parse(`?seed=${text}`).seed).toBe(0);
  });

  it.each(["?view=nonsense&exact=yes&column=%25&unknown=1", "?%FF=%FE&q=%00", "?&&=&="])("survives %j", (search) => {
    expect(parse(search).view).toBe("table");
  });
});
