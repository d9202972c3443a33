import { describe, expect, it } from "vitest";
import type { Item, SimilarItem } from "../api/replies";
import { columnsOf, figures, type PropertyKinds, resorted, similarityText, sorted } from "./columns";

const PROPERTIES: PropertyKinds = { logP: "number", note: "text", a: "number", b: "number", c: "number" };

function hit(id: number, similarity: number, logP: number | null, name?: string): SimilarItem {
  const names = name === undefined ? [] : [name];
  const item: Item = { id, smiles: "C", names, inchikey: null, properties: { logP }, degree: id, dropped: null };
  return { item, similarity };
}

const HITS = [hit(0, 0.9, 2, "compound 10"), hit(1, 0.8, null), hit(2, 0.7, -1.5, "compound 9")];
const COLUMNS = columnsOf(PROPERTIES, null);
const ids = (hits: SimilarItem[]) => hits.map(({ item }) => item.id);

describe("columns", () => {
  it("are the first few properties, or those that were chosen and exist", () => {
    const titles = (chosen: string[] | null) => columnsOf(PROPERTIES, chosen).map(({ title }) => title);
    expect(titles(null).slice(3)).toEqual(["logP", "note", "a", "b"]);
    expect(titles(["c", "gone", "constructor"]).slice(3)).toEqual(["c"]);
    expect(titles([])).toEqual(["Similarity", "Name", "Neighbours"]);
  });

  it("sort by number or by name, what is missing last either way", () => {
    expect(ids(sorted(HITS, COLUMNS, null))).toEqual([0, 1, 2]);
    expect(ids(sorted(HITS, COLUMNS, "similarity"))).toEqual([2, 1, 0]);
    expect(ids(sorted(HITS, COLUMNS, "property:logP"))).toEqual([2, 0, 1]);
    expect(ids(sorted(HITS, COLUMNS, "-property:logP"))).toEqual([0, 2, 1]);
    expect(ids(sorted(HITS, COLUMNS, "name"))).toEqual([2, 0, 1]);
    expect(ids(sorted(HITS, COLUMNS, "nonsense"))).toEqual([0, 1, 2]);
  });

  it("turn round at each click", () => {
    const [similarity, name] = COLUMNS;
    if (!similarity || !name) throw new Error("no columns");
    expect(resorted(similarity, null)).toBe("similarity");
    expect(resorted(similarity, "similarity")).toBeNull();
    expect(resorted(name, null)).toBe("name");
    expect(resorted(name, "name")).toBe("-name");
  });
});

describe("figures", () => {
  it.each([
    [[1, 20000, null], ["1", "20,000", "–"]],
    [[0.25, -0.5, 1], ["0.250", "-0.500", "1.000"]],
    [[12.3456, 0.5, undefined], ["12.35", "0.50", "–"]],
    [[0.00001, 3.5], ["1.00e-5", "3.50e+0"]],
    [["text", null], ["text", "–"]],
    [[], []],
  ])("%j", (values, texts) => {
    expect(figures(values)).toEqual(texts);
  });

  it("say 1.000 of nothing but 1", () => {
    expect([1, 0.99999, 0.7, 0.55].map(similarityText)).toEqual(["1.000", "0.999", "0.700", "0.550"]);
  });
});
