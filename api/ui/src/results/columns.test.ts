import { describe, expect, it } from "vitest";
import type { CollectionDetail, ComputedColumns } from "../api/replies";
import { columnsOf, exportColumns, formatAll, nextSort, propertiesOf, shownProperty, similarityText, sourceTitle, sortOrder, sortProperty } from "./columns";

type Manifest = CollectionDetail["manifest"];
const manifestOf = (properties: Manifest["properties"]) => ({ properties, qualifiers: {}, structure: "smiles", recipe: {} }) as unknown as Manifest;

const PROPERTIES = propertiesOf({ manifest: manifestOf({ logP: "number", note: "text", a: "number", b: "number", c: "number" }) });

const COMPUTED: ComputedColumns = {
  descriptors: [
    { name: "descriptor.tpsa", label: "TPSA", unit: "Å²", description: "" },
    { name: "descriptor.qed", label: "QED", unit: null, description: "" },
  ],
  activities: [{ name: "pactivity.nM.Ki nM", label: "pKi", source: "Ki nM", unit: "nM" }],
};

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
    const properties = propertiesOf({ manifest: manifestOf({ "property.names": "text", names: "text", "": "number", unnamed: "text", logP: "number" }) });
    expect(Object.entries(properties).map(([key, { apiName }]) => [key, apiName])).toEqual([
      ["property.names", "property.property.names"],
      ["names", "property.names"],
      ["", "unnamed"],
      ["unnamed", "property.unnamed"],
      ["logP", "logP"],
    ]);
  });

  it("can be computed, and are shown only if they are selected", () => {
    const properties = propertiesOf({ manifest: manifestOf({ "Ki nM": "number" }), computed: COMPUTED });
    const titlesOf = (selectedKeys: string[] | null) => columnsOf(properties, selectedKeys, false).slice(2).map(({ title }) => title);
    expect(titlesOf(null)).toEqual(["Ki (nM)"]);
    expect(titlesOf(["descriptor.tpsa", "pactivity.nM.Ki nM"])).toEqual(["TPSA (Å²)", "pKi"]);
    expect(shownProperty(properties, null)).toBe("Ki nM");
    expect(shownProperty(properties, "descriptor.qed")).toBe("descriptor.qed");
    expect(shownProperty(propertiesOf({ manifest: manifestOf({}), computed: COMPUTED }), null)).toBeNull();
  });

  it("that are concentrations give way to their logarithms", () => {
    const properties = propertiesOf({ manifest: manifestOf({ "Ki nM": "number", batch: "number", pKi: "number" }) });
    expect(shownProperty(properties, null)).toBe("pKi");
    expect(shownProperty(properties, "Ki nM")).toBe("Ki nM");
  });

  it("that are computed are not confused with those of the source", () => {
    const properties = propertiesOf({ manifest: manifestOf({ "descriptor.qed": "number", QED: "number", "pactivity.M.x": "text" }), computed: COMPUTED });
    const described = Object.entries(properties).map(([key, { title, apiName }]) => [key, title, apiName]);
    expect(described).toEqual([
      ["descriptor.qed", "descriptor.qed", "property.descriptor.qed"],
      ["QED", "QED", "QED"],
      ["pactivity.M.x", "pactivity.M.x", "property.pactivity.M.x"],
      ["pactivity.nM.Ki nM", "pKi", "pactivity.nM.Ki nM"],
      ["descriptor.tpsa", "TPSA (Å²)", "descriptor.tpsa"],
      ["computed.descriptor.qed", "QED, computed", "descriptor.qed"],
    ]);
  });

  it.each([
    ["molwt", "Molecular weight (g/mol)"],
    ["heavy_atoms", "Heavy atoms"],
    ["IC50_nM", "IC50 (nM)"],
    ["EC50 uM", "EC50 (µM)"],
    ["max_inhibition_%", "max inhibition (%)"],
    ["log P", "log P"],
    ["hERG_pIC50", "hERG pIC50"],
    ["nM", "nM"],
    ["_", "(no name)"],
  ])("have a title for people: %j is %j", (name, title) => {
    expect(sourceTitle(name)).toBe(title);
  });

  it("keep their own names if two would have the same title", () => {
    const properties = propertiesOf({ manifest: manifestOf({ a_b: "number", "a b": "number", c_d: "number" }) });
    expect(Object.values(properties).map(({ title }) => title)).toEqual(["a_b", "a b", "c d"]);
  });

  it("are exported with those of the source if they are computed", () => {
    const detail = { manifest: manifestOf({ "Ki nM": "number", id: "text", similarity: "number" }), computed: COMPUTED } as CollectionDetail;
    expect(exportColumns(detail, null)).toBeNull();
    expect(exportColumns(detail, ["Ki nM"])).toBeNull();
    expect(exportColumns(detail, ["descriptor.qed"], true)).toEqual([
      "id", "smiles", "names", "similarity", "Ki nM", "property.id", "property.similarity", "descriptor.qed",
    ]);
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
