import { describe, expect, it } from "vitest";
import { combine, uniqueName, withoutRepeats } from "./combine";

const FIRST = [{ id: 1, key: "C" }, { id: 2, key: null }, { id: null, key: "N" }, { id: null, key: "O" }];
const SECOND = [{ id: 3, key: "S" }, { id: 2, key: "CC" }, { id: null, key: "N" }];

describe("set operations on lists", () => {
  it.each([
    ["union", [{ id: 1, key: "C" }, { id: 2, key: "CC" }, { id: null, key: "N" }, { id: null, key: "O" }, { id: 3, key: "S" }]],
    ["intersection", [{ id: 2, key: null }, { id: null, key: "N" }]],
    ["difference", [{ id: 1, key: "C" }, { id: null, key: "O" }]],
  ] as const)("%s keeps the order of the lists", (operation, entries) => {
    expect(combine(FIRST, SECOND, operation)).toEqual(entries);
  });

  it("list no item twice", () => {
    expect(withoutRepeats([...FIRST, ...FIRST])).toEqual(FIRST);
  });
});

describe("the name of a new list", () => {
  it("is unique", () => {
    const lists = ["List", "List 2"].map((name) => ({ name, note: "", entries: [] }));
    expect([uniqueName("Hits", lists), uniqueName("List", lists)]).toEqual(["Hits", "List 3"]);
  });
});
