import { describe, expect, it } from "vitest";
import { parseCondition, formatCondition } from "./conditions";

describe("a condition", () => {
  it.each([
    { property: "log P", min: -1, max: 2.5, contains: null },
    { property: "", min: null, max: 0, contains: null },
    { property: 'class "x"', min: null, max: null, contains: "acid" },
  ])("is read back as it is written: %j", (condition) => {
    expect(parseCondition(formatCondition(condition))).toEqual([condition]);
  });

  it.each(["", "x", "{}", "[]", '["a"]', '["a",null,null]', '["a",""]', '["a","1",2]', "[1,2,3]", '["a",1,2,3]'])(
    "is none where the address says %j",
    (text) => {
      expect(parseCondition(text)).toEqual([]);
    },
  );
});
