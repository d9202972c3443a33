import { describe, expect, it } from "vitest";
import { truncation } from "./truncation";

describe("the truncation note", () => {
  const recipe = { threshold: 0.4, top_k: 70 };

  it("counts stored, found and truncated pairs", () => {
    const pairs = { stored: 2_000_000, truncated: 1_437_000 };
    expect(truncation(pairs, recipe)).toBe(
      "2,000,000 of 3,437,000 pairs at or above 0.4 are stored (top-k 70); 1,437,000 are truncated.",
    );
    expect(truncation({ stored: 7, truncated: 1 }, recipe)).toBe("7 of 8 pairs at or above 0.4 are stored (top-k 70); 1 is truncated.");
  });

  it("is null for a complete list and for an unknown count", () => {
    expect(truncation({ stored: 7, truncated: 0 }, recipe)).toBeNull();
    expect(truncation({ stored: 7, truncated: null }, recipe)).toBeNull();
  });
});
