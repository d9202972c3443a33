import { expect, test } from "vitest";
import type { Item } from "../api/replies";
import { propertiesOf } from "./columns";
import { differences } from "./differences";

const PROPERTIES = propertiesOf({
  manifest: { properties: { weight: "number", series: "text", rings: "number", pIC50: "number", assay: "text" }, qualifiers: {} },
  computed: { activities: [], descriptors: [{ name: "descriptor.tpsa", label: "TPSA", unit: "Å²", description: "" }] },
});
const item = (properties: Item["properties"]) => ({ properties }) as Item;
const QUERY = item({ weight: 310.5, series: "A", rings: 3, pIC50: 6.1, assay: "x" });
const OTHER = item({ weight: 296.25, series: "A", rings: 3, pIC50: 7.4 });

test("differences lists requested properties first and equal ones separately", () => {
  const { rows, same } = differences(PROPERTIES, QUERY, OTHER, ["pIC50", null, "rings", "gone"]);
  expect(rows).toEqual([
    { name: "pIC50", values: ["6.1", "7.4"], difference: "+1.3" },
    { name: "Rings", values: ["3", "3"], difference: "0" },
    { name: "weight", values: ["310.50", "296.25"], difference: "−14.25" },
    { name: "assay", values: ["x", "–"], difference: "" },
  ]);
  expect(same.map(({ name }) => name)).toEqual(["series"]);
});

test("differences lists all properties if the query is not stored", () => {
  const { rows, same } = differences(PROPERTIES, null, OTHER, []);
  expect(rows.map(({ name, values, difference }) => [name, ...values, difference])).toEqual([
    ["weight", "296.25", ""],
    ["series", "A", ""],
    ["Rings", "3", ""],
    ["pIC50", "7.4", ""],
    ["assay", "–", ""],
  ]);
  expect(same).toEqual([]);
});

test("differences compares a computed property if the other item has its value", () => {
  const computed = item({ ...OTHER.properties, "descriptor.tpsa": 63.6 });
  expect(differences(PROPERTIES, null, computed, ["descriptor.tpsa"]).rows[0]).toEqual({ name: "TPSA (Å²)", values: ["63.6"], difference: "" });
});
