import { describe, expect, it } from "vitest";
import { formatLists, parseLists } from "./storage";

const LISTS = {
  generation: "a".repeat(64),
  lists: [
    { name: "Hits", note: "from the screen", entries: [{ id: 3, key: "CCO" }, { id: null, key: "CC" }, { id: 7, key: null }] },
    { name: "Leads", note: "", entries: [] },
  ],
  current: 1,
};
const NOTHING = { generation: null, lists: [{ name: "Selection", note: "", entries: [] }], current: 0 };

describe("stored lists", () => {
  it("round-trip", () => {
    expect(parseLists(formatLists(LISTS))).toEqual(LISTS);
  });

  it("start with one empty list", () => {
    expect(parseLists(null)).toEqual(NOTHING);
  });

  it("take over the basket of earlier versions", () => {
    const basket = JSON.stringify({ generation: "b", ids: [5, 1, "x"] });
    const list = { name: "Selection", note: "", entries: [{ id: 5, key: null }, { id: 1, key: null }] };
    expect(parseLists(null, basket)).toEqual({ generation: "b", lists: [list], current: 0 });
    expect(parseLists(formatLists(LISTS), basket)).toEqual(LISTS);
  });

  it.each(["{", "[]", "7", '{"lists":3}', '{"lists":[null,{"name":3}]}', '{"generation":"a","current":9,"lists":[{"name":"a"}]}'])(
    "ignore malformed text: %s",
    (text) => {
      expect(parseLists(text, text)).toEqual(NOTHING);
    },
  );
});
