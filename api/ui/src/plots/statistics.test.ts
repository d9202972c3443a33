import { expect, test } from "vitest";
import { packColor } from "../map/points";
import { OTHER_COLOR } from "../graph/color";
import { boxOf } from "./boxes";
import { colorDots, plainDots } from "./dotColors";
import { barsOf } from "./histogram";
import { differencesOf } from "./pairs";
import { similarityWithAtMost } from "./numbers";

const TO_NINE = Float64Array.from([5, 3, NaN, 9, 1, 8, 2, 7, 4, 6]);

test("boxOf has quartiles, whiskers and outliers", () => {
  expect(boxOf(TO_NINE, "linear")).toEqual({ count: 9, quartiles: [3, 5, 7], whiskers: [1, 9], outliers: [], outlierCount: 0 });
  const withOutlier = boxOf(Float64Array.of(1, 2, 3, 4, 100), "linear")!;
  expect([withOutlier.whiskers, withOutlier.outliers]).toEqual([[1, 4], [100]]);
  expect(boxOf(Float64Array.of(-1, 10, 1000, 0, 100_000), "log")!.quartiles.map(Math.round)).toEqual([100, 1000, 10_000]);
  expect(boxOf(Float64Array.of(NaN), "linear")).toBeNull();
  const many = boxOf(Float64Array.from({ length: 1000 }, (_, index) => (index < 700 ? 0 : index)), "linear")!;
  expect(many.outliers.length).toBeLessThanOrEqual(100);
});

test("barsOf counts each value once", () => {
  const bars = barsOf(TO_NINE, "linear");
  expect(bars.flatMap(({ indices }) => indices).sort()).toEqual([0, 1, 3, 4, 5, 6, 7, 8, 9]);
  for (const { min, max, indices } of bars) expect(indices.every((index) => TO_NINE[index]! >= min && TO_NINE[index]! <= max)).toBe(true);
  expect(barsOf(Float64Array.of(7, 7), "linear")).toEqual([{ min: 7, max: 14, indices: [0, 1] }]);
  const decades = barsOf(Float64Array.of(1, 10, 1e4, 0, -3), "log");
  expect(decades.reduce((count, { indices }) => count + indices.length, 0)).toBe(3);
  expect(decades[0]!.min).toBe(1);
});

test("colorDots leaves dots without a value gray", () => {
  const { pixels, coloring } = colorDots(TO_NINE, "light");
  expect([coloring.range?.min, coloring.range?.max, coloring.missingCount]).toEqual([1, 9, 1]);
  expect(pixels[2]).toBe(packColor(OTHER_COLOR));
  expect(new Set(pixels).size).toBe(10);
  expect(new Set(plainDots(5, "dark").pixels).size).toBe(1);
});

test("differencesOf keeps pairs whose items both have a value", () => {
  const pairs = { a: Int32Array.of(1, 1, 4), b: Int32Array.of(4, 6, 9), similarity: Float64Array.of(0.9, 0.8, 0.7) };
  const { a, b, difference, indexOf } = differencesOf(pairs, Int32Array.of(1, 4, 6), Float64Array.of(10, 1000, NaN), "log");
  expect([[...a], [...b], [...difference]]).toEqual([[1], [4], [2]]);
  expect([indexOf(4), indexOf(9)]).toEqual([1, -1]);
});

test("similarityWithAtMost counts pairs from the most similar down", () => {
  const histogram = { edges: [0.4, 0.6, 0.8, 1], counts: [100, 10, 1] };
  expect([0, 1, 11, 12, 1000].map((count) => similarityWithAtMost(histogram, count))).toEqual([1, 0.8, 0.6, 0.6, null]);
});
