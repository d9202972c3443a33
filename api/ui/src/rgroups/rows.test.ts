import { describe, expect, it } from "vitest";
import type { Item, RgroupRow } from "../api/replies";
import { formatGroupCondition, parseGroupCondition } from "./groupConditions";
import { coreWithGroups, groupCounts, groupText, nextSort, rowsWith, sortRows } from "./rows";

function row(name: string, potency: number | null, groups: Record<string, string>): RgroupRow {
  const item: Item = { id: 0, smiles: "C", names: [name], inchikey: null, properties: { potency }, degree: 0, dropped: 0 };
  return { item, core: "c1ccccc1", groups, value: potency };
}

const ROWS = [
  row("m10", 5, { R1: "*C", R2: "*F" }),
  row("m9", null, { R1: "*[H]", R2: "*F" }),
  row("m11", 7, { R1: "*C", R2: "*Cl" }),
  row("m8", 6, { R1: "*CC" }),
];
const names = (rows: RgroupRow[]) => rows.map(({ item }) => item.names[0]);

describe("the rows of an R-group table", () => {
  it("are sorted by name, property or group, with missing values last in both directions", () => {
    expect(names(sortRows(ROWS, null))).toEqual(["m10", "m9", "m11", "m8"]);
    expect(names(sortRows(ROWS, "name"))).toEqual(["m8", "m9", "m10", "m11"]);
    expect(names(sortRows(ROWS, "property:potency"))).toEqual(["m10", "m8", "m11", "m9"]);
    expect(names(sortRows(ROWS, "-property:potency"))).toEqual(["m11", "m8", "m10", "m9"]);
    expect(names(sortRows(ROWS, "-R2")).at(-1)).toBe("m8");
    expect(names(sortRows(ROWS, "R2")).slice(0, 1)).toEqual(["m11"]);
    expect(names(sortRows(ROWS, "R7"))).toEqual(names(ROWS));
  });

  it("can be narrowed to R groups at several positions", () => {
    expect(names(rowsWith(ROWS, []))).toEqual(names(ROWS));
    expect(names(rowsWith(ROWS, [{ label: "R1", smiles: "*C" }]))).toEqual(["m10", "m11"]);
    const both = [{ label: "R1", smiles: "*C" }, { label: "R2", smiles: "*Cl" }];
    expect(names(rowsWith(ROWS, both))).toEqual(["m11"]);
    expect(rowsWith(ROWS, [{ label: "R3", smiles: "*C" }])).toEqual([]);
  });

  it("have groups that are counted, the most frequent first", () => {
    expect(groupCounts(ROWS, "R1")).toEqual([{ smiles: "*C", count: 2 }, { smiles: "*[H]", count: 1 }, { smiles: "*CC", count: 1 }]);
    expect(groupCounts(ROWS, "R3")).toEqual([]);
  });

  it("start with the largest number or with A, and are reversed by the next click", () => {
    expect(nextSort("property:potency", true, null)).toBe("-property:potency");
    expect(nextSort("property:potency", true, "-property:potency")).toBe("property:potency");
    expect(nextSort("R1", false, "name")).toBe("R1");
    expect(nextSort("R1", false, "R1")).toBe("-R1");
  });
});

it("the text of an R group marks the core by a star, and hydrogen has none", () => {
  expect(["[H][*:1]", "[*:2]OC", "C1CC([*:1])C1[*:2]"].map(groupText)).toEqual(["H", "*OC", "C1CC(*)C1*"]);
});

it("a core is followed by its groups, and by a group that closes a ring once", () => {
  const ring = "C1CC([*:1])C1[*:2]";
  expect(coreWithGroups({ core: "c1ccccc1", groups: { R1: ring, R2: ring, R3: "[H][*:3]" } })).toBe(`c1ccccc1.${ring}.[H][*:3]`);
});

describe("a condition on an R group", () => {
  it("round-trips through the address", () => {
    const condition = { label: "R1", smiles: 'C/C=C\\*["&]' };
    expect(parseGroupCondition(formatGroupCondition(condition))).toEqual([condition]);
  });

  it.each(["", "R1", '["R1"]', '["R1",""]', '["R1",7]', '["R1","*C","x"]', '{"R1":"*C"}', "null"])("is ignored if it is %j", (text) => {
    expect(parseGroupCondition(text)).toEqual([]);
  });
});
