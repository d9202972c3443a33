import { describe, expect, it } from "vitest";
import { decodeIds, encodeIds } from "./idEncoding";

describe("encoded ids", () => {
  it.each([[[]], [[0]], [[0, 1, 2, 127, 128, 129]], [[5, 2 ** 31 - 1]], [Array.from({ length: 10_000 }, (_, k) => k * 8)]])(
    "decode to the distinct ids in ascending order",
    (ids) => {
      expect(decodeIds(encodeIds(ids))).toEqual(ids);
      expect(decodeIds(encodeIds([...ids, ...ids].reverse()))).toEqual(ids);
    },
  );

  it("are short", () => {
    expect(encodeIds(Array.from({ length: 10_000 }, (_, k) => k * 8)).length).toBeLessThan(14_000);
  });

  it.each(["%", "é", "gA", "____", "_____w8"])("decode to null if the text is malformed: %j", (text) => {
    expect(decodeIds(text)).toBeNull();
  });
});
