import { describe, expect, it } from "vitest";
import { decodeIds, encodeIds } from "./idEncoding";

describe("a selection in an address", () => {
  it.each([[[]], [[0]], [[0, 1, 2, 127, 128, 129]], [[5, 2 ** 31 - 1]], [Array.from({ length: 10_000 }, (_, k) => k * 8)]])(
    "is read back as it is written, each id once and in order",
    (ids) => {
      expect(decodeIds(encodeIds(ids))).toEqual(ids);
      expect(decodeIds(encodeIds([...ids, ...ids].reverse()))).toEqual(ids);
    },
  );

  it("is short", () => {
    expect(encodeIds(Array.from({ length: 10_000 }, (_, k) => k * 8)).length).toBeLessThan(14_000);
  });

  it.each(["%", "é", "gA", "____", "_____w8"])("is none where the address says %j", (text) => {
    expect(decodeIds(text)).toBeNull();
  });
});
