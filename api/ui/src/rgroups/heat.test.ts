import { expect, it } from "vitest";
import { heatColor, rangeOf } from "./heat";

it("the range of values leaves out missing ones and texts", () => {
  expect(rangeOf([3, null, 1, "7", undefined, 2])).toEqual([1, 3]);
  expect(rangeOf([null, "7"])).toBeNull();
});

it("heat colors depend on the position in the range only", () => {
  expect(heatColor(5, [0, 10], "light")).toBe(heatColor(50, [0, 100], "light"));
  expect(new Set([0, 5, 10].map((value) => heatColor(value, [0, 10], "light"))).size).toBe(3);
  expect(heatColor(4, [4, 4], "light")).toBe(heatColor(0, [0, 10], "light"));
});

it("missing values have no heat color", () => {
  expect([heatColor(null, [0, 1], "dark"), heatColor("1", [0, 1], "dark"), heatColor(1, null, "dark")]).toEqual([null, null, null]);
});
