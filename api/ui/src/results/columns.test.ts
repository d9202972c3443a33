import { describe, expect, it } from "vitest";
import { columnsOf, formatAll, sortOrder, type PropertyKinds, nextSort, similarityText, sortProperty, exportNames } from "./columns";

const PROPERTIES: PropertyKinds = { logP: "number", note: "text", a: "number", b: "number", c: "number" };

const COLUMNS = columnsOf(PROPERTIES, null);

describe("columns", () => {
  it("are the first few properties, or the selected ones that exist", () => {
    const titlesOf = (selectedNames: string[] | null) => columnsOf(PROPERTIES, selectedNames).map(({ title }) => title);
    expect(titlesOf(null).slice(3)).toEqual(["logP", "note", "a", "b"]);
    expect(titlesOf(["c", "gone", "constructor"]).slice(3)).toEqual(["c"]);
    expect(titlesOf([])).toEqual(["Similarity", "Name", "Neighbors"]);
  });

  it("map to sort keys of the API", () => {
    expect(sortOrder(COLUMNS, null)).toBeNull();
    expect(sortOrder(COLUMNS, "-similarity")).toEqual({ by: "similarity", descending: true });
    expect(sortOrder(COLUMNS, "name")).toEqual({ by: "names", descending: false });
    expect(sortOrder(COLUMNS, "-neighbours")).toEqual({ by: "degree", descending: true });
    expect(sortOrder(COLUMNS, "property:logP")).toEqual({ by: "logP", descending: false });
    expect(sortOrder(COLUMNS, "property:c")).toBeNull(); // This column is not shown.
    expect(sortOrder(columnsOf(PROPERTIES, null, false), "-similarity")).toBeNull();
  });

  it("have the names that exports use", () => {
    const names = exportNames({ "property.names": "text", names: "text", "": "number", unnamed: "text", logP: "number" });
    expect(Object.fromEntries(names)).toEqual({
      "": "unnamed",
      logP: "logP",
      names: "property.names",
      "property.names": "property.property.names",
      unnamed: "property.unnamed",
    });
  });

  it("tell whether a list is sorted by a property", () => {
    expect(["property:a:b", "-property:", "-similarity", null].map(sortProperty)).toEqual(["a:b", "", null, null]);
  });

  it("reverse the order with each click", () => {
    const [similarity, name] = COLUMNS;
    if (!similarity || !name) throw new Error("no columns");
    expect(nextSort(similarity, null)).toBe("similarity");
    expect(nextSort(similarity, "similarity")).toBeNull();
    expect(nextSort(name, null)).toBe("name");
    expect(nextSort(name, "name")).toBe("-name");
  });
});

describe("formatAll", () => {
  it.each([
    [[1, 20000, null], ["1", "20,000", "–"]],
    [[0.25, -0.5, 1], ["0.25", "-0.50", "1.00"]],
    [[12.3456, 0.5, undefined], ["12.3456", "0.5000", "–"]],
    [[0.0005, 1234567.5], ["0.0005", "1234567.5000"]],
    [[0.123456, -0.5, 1], ["0.123", "-0.500", "1.000"]],
    [[12.345678, 0.5, undefined], ["12.35", "0.50", "–"]],
    [[0.00001, 3.5], ["1.00e-5", "3.50e+0"]],
    [["text", null], ["text", "–"]],
    [[], []],
  ])("formats %j", (values, texts) => {
    expect(formatAll(values)).toEqual(texts);
  });

  it("writes 1.000 only for a similarity of exactly 1", () => {
    expect([1, 0.99999, 0.7, 0.55].map(similarityText)).toEqual(["1.000", "0.999", "0.700", "0.550"]);
  });
});
