import { describe, expect, it } from "vitest";
import type { CollectionDetail } from "../api/replies";
import { sketchesOf } from "./sample";

const detail = {
  manifest: { properties: { label: "text", same: "number", mass: "number", empty: "number", rings: "number", more: "number" } },
  computed: { descriptors: [], activities: [] },
} as unknown as CollectionDetail;

describe("sketches of a collection", () => {
  it("are histograms of the first two properties whose values differ", () => {
    const items = [0, 1, 15, 16].map((mass) => ({ properties: { label: "x", same: 5, mass, empty: null, rings: mass ? 1 : null, more: mass / 2 } }));
    const [mass, more] = sketchesOf(detail, items);
    expect(mass).toEqual({ title: "mass", min: 0, max: 16, counts: [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2] });
    expect(more).toMatchObject({ title: "more", min: 0, max: 8 });
  });

  it("are empty without values", () => {
    expect(sketchesOf(detail, [])).toEqual([]);
  });
});
