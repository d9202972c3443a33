import { expect, test } from "vitest";
import { clusteringTitle, orderOf, summarizerOf, thresholdText } from "./clusterings";

test("clusteringTitle names the method and the threshold", () => {
  expect(clusteringTitle("butina", 0.55)).toBe("Butina clusters at 0.55");
  expect(clusteringTitle("single", 0.4)).toBe("Components at similarity ≥ 0.40");
  expect(clusteringTitle("scaffold", null)).toBe("Bemis-Murcko scaffolds");
  expect(clusteringTitle("single", null)).toBe("Components");
});

test("thresholdText keeps the third decimal of a threshold between two hundredths", () => {
  expect([0.4, 0.55, 0.4567, 1].map(thresholdText)).toEqual(["0.40", "0.55", "0.456", "1.00"]);
});

test("orderOf falls back to the largest clusters first", () => {
  expect(orderOf({ sort: null, minCount: null }, true)).toEqual({ key: "-size", minSize: 1 });
  expect(orderOf({ sort: "-mean", minCount: null }, true)).toEqual({ key: "-mean", minSize: 3 });
  expect(orderOf({ sort: "-mean", minCount: 7 }, false)).toEqual({ key: "-size", minSize: 7 });
  expect(orderOf({ sort: "property:mass", minCount: null }, true).key).toBe("-size");
});

test("summarizerOf describes the values of a property with the same decimals in all clusters", () => {
  const range = { min: 1.5, max: 9, mean: 4.25, values: 3 };
  const clusters = [
    { range, sd: 2, matches: 3 },
    { range: { ...range, min: 1.25, values: 1 }, sd: null, matches: 3 },
    { range: { min: null, max: null, mean: null, values: 0 }, sd: null, matches: 3 },
    { range: null, sd: null, matches: 3 },
  ];
  expect(clusters.map(summarizerOf(clusters))).toEqual([
    { range: "1.50 to 9.00", mean: "mean 4.25 ± 2.00" },
    { range: "1.25 to 9.00", mean: "mean 4.25, 1 with a value" },
    { range: "no values", mean: "" },
    null,
  ]);
});
