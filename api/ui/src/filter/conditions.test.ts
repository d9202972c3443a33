import { describe, expect, it } from "vitest";
import { parseCondition, formatCondition } from "./conditions";

describe("a condition", () => {
  it.each([
    { property: "log P", min: -1, max: 2.5, contains: null },
    { property: "", min: null, max: 0, contains: null },
    { property: 'class "x"', min: null, max: null, contains: "acid" },
  ])("round-trips through the address: %j", (condition) => {
    expect(parseCondition(formatCondition(condition))).toEqual([condition]);
  });

  it.each(["", "x", "{}", "[]", '["a"]', '["a",null,null]', '["a",""]', '["a","1",2]', "[1,2,3]", '["a",1,2,3]'])(
    "is missing if the text is malformed: %j",
    (text) => {
      expect(parseCondition(text)).toEqual([]);
    },
  );
});
