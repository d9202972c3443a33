import { describe, expect, it } from "vitest";
import { type Address, reuseLists, withChange, format, parse, DEFAULT_ADDRESS } from "./address";

const FULL: Address = {
  collection: "a collection & more",
  part: "tree",
  q: "C[N+](C)(C)C#N/C=C\\%",
  generation: "0".repeat(64),
  earlierGeneration: "1".repeat(64),
  minSimilarity: 0.65,
  maxSimilarity: 0.95,
  exact: true,
  filters: [
    { property: "log P", min: -1.5, max: null, contains: null },
    { property: 'a "class", &', min: null, max: null, contains: "acid=%" },
  ],
  name: "asp",
  substructure: { smarts: "[#6]=,:[N+;!H0]%" },
  scaffold: "c1ccc2[nH]ccc2c1",
  onlyIds: "AAEC_-",
  listName: "Hits & leads",
  view: "tiles",
  sort: "-property:log P",
  columns: ["log P", "a,b", "%"],
  pages: 3,
  mark: "shared",
  expandedItems: ["CCO", "#7", "CCO"],
  cluster: "c1ccccc1",
  selectedItem: "[O-][n+]1ccccc1",
  method: "scaffold",
  property: "log P",
  steepness: "sali",
  branches: ["c1ccccc1", "c1ccc2[nH]ccc2c1"],
  core: "c1ccc([*:1])cc1-[*:2]",
  groups: [{ label: "R1", smiles: '*C#N"%&' }, { label: "R2", smiles: "*[H]" }],
  axes: ["R2", "R1"],
  minCount: 5,
  change: "lower",
  transformation: "[*:1]C>>[*:1]Cl",
  policy: "second_order",
  seed: 2 ** 40,
  color: "log P",
  plot: "histogram",
  x: "IC50 (nM)",
  y: "log P",
  xScale: "log",
  yScale: "linear",
  lasso: "0.1,0.2;0.5,0.2;0.3,0.6",
  other: "b & c",
  relation: "near duplicate",
  from: "C#N",
  to: "CC",
  job: "8f2c",
};

describe("the page address", () => {
  it("round-trips every field", () => {
    expect(parse(format(FULL))).toEqual(FULL);
    const drawnAddress = { ...FULL, substructure: { smiles: "C1=CC=NC=C1" } };
    expect(parse(format(drawnAddress))).toEqual(drawnAddress);
  });

  it("is empty for the default state", () => {
    expect(format(DEFAULT_ADDRESS)).toBe("");
    expect(parse("")).toEqual(DEFAULT_ADDRESS);
  });

  it("keeps what belongs to a query until the query changes", () => {
    expect(withChange(FULL, { color: null })).toEqual({ ...FULL, color: null });
    const queryDefaults = { part: "find", earlierGeneration: null, pages: 1, expandedItems: [], cluster: null, transformation: null, selectedItem: null, seed: 0, lasso: null, other: null, relation: null, from: null, to: null, job: null };
    const filterDefaults = { exact: false, filters: [], name: null, substructure: null, scaffold: null, onlyIds: null, listName: null, branches: [], core: null, groups: [], axes: null };
    expect(withChange(FULL, { q: "C" })).toEqual({
      ...FULL,
      q: "C",
      minSimilarity: null,
      maxSimilarity: null,
      ...queryDefaults,
      ...filterDefaults,
    });
    expect(withChange(FULL, { q: "C", minSimilarity: 0.5 }).minSimilarity).toBe(0.5);
  });

  it("keeps the filters in another part of the page", () => {
    const { filters, name, substructure } = FULL;
    for (const change of [{ part: "map" }, { cluster: null }] as const) expect(withChange(FULL, change)).toMatchObject({ filters, name, substructure });
    for (const change of [{ q: "C" }, { q: null }, { collection: "other" }]) expect(withChange(FULL, change)).toMatchObject({ filters: [], name: null, substructure: null });
  });

  it("keeps the positions of an R-group table until its core or its compounds change", () => {
    const { groups, axes } = FULL;
    const kept = [{ sort: null }, { property: "mass" }, { view: "matrix" }, { color: null }] as const;
    for (const change of kept) expect(withChange(FULL, change)).toMatchObject({ groups, axes });
    for (const change of [{ core: null }, { filters: [] }, { name: null }, { substructure: null }, { scaffold: null }, { onlyIds: null }, { cluster: null }])
      expect(withChange(FULL, change)).toMatchObject({ groups: [], axes: null });
    expect(withChange(FULL, { core: "C", groups, axes })).toMatchObject({ core: "C", groups, axes });
  });

  it("restarts at the first page when the list changes", () => {
    const limits = [{ minSimilarity: 0.7 }, { maxSimilarity: 0.9 }, { exact: false }];
    const lists = [...limits, { minCount: 2 }, { change: "raise" }, { transformation: null }, { cluster: null }, { part: "find" }, { q: "C" }] as const;
    expect(lists.map((list) => withChange(FULL, list).pages)).toEqual(lists.map(() => 1));
    expect(withChange(FULL, { sort: null }).pages).toBe(1);
    expect(withChange(FULL, { filters: [] }).pages).toBe(1);
    expect(withChange(FULL, { minSimilarity: 0.65, selectedItem: null, columns: null }).pages).toBe(3);
    expect(parse("?pages=1000000").pages).toBe(50);
  });

  it("reuses lists and objects that did not change", () => {
    const [before, next] = [parse(format(FULL)), parse(format({ ...FULL, columns: ["log P"] }))];
    expect(reuseLists(next, before)).toEqual(next);
    expect(reuseLists(next, before).expandedItems).toBe(before.expandedItems);
    expect(reuseLists(next, before).filters).toBe(before.filters);
  });

  it("distinguishes items without a scaffold from all items", () => {
    expect(parse(format({ ...DEFAULT_ADDRESS, scaffold: "" })).scaffold).toBe("");
    expect(parse("").scaffold).toBeNull();
  });

  it("distinguishes no columns from the default columns", () => {
    expect(parse(format({ ...DEFAULT_ADDRESS, columns: [] })).columns).toEqual([]);
  });

  it.each(["0", "-1", "1.01", "NaN", "x", ""])("ignores the invalid threshold %j", (text) => {
    expect(parse(`?min_similarity=${text}`).minSimilarity).toBeNull();
  });

  it.each(["-1", "1.5", "1e3", "x", "", "9".repeat(16)])("ignores the invalid seed %j", (text) => {
    expect(parse(`?seed=${text}`).seed).toBe(0);
  });

  it.each(["0", "-1", "1.5", "x", ""])("ignores the invalid number of matched pairs %j", (text) => {
    expect(parse(`?min_count=${text}`).minCount).toBeNull();
  });

  it.each(["?view=nonsense&exact=yes&column=%25&unknown=1", "?%FF=%FE&q=%00", "?&&=&="])("parses the malformed search %j", (search) => {
    expect(parse(search).view).toBe("table");
  });
});
