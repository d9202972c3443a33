import { expect, it } from "vitest";
import type { Points } from "../map/points";
import { comparisonCsv, shareMap } from "./comparison";

const MAP: Points = { x: Float32Array.of(0, 0.5, 1), y: Float32Array.of(0, 1, 0.5), value: new Float64Array(3), cluster: new Int32Array(3) };

it("places items of the other collection next to their nearest items", () => {
  const { points, otherIds } = shareMap(MAP, Int32Array.of(2, -1, 0, 2));
  expect([...otherIds]).toEqual([0, 2, 3]);
  expect([points.x[1]! - points.x[0]!, points.y[1]! - points.y[2]!]).toEqual([0.5, 0.5]);
  expect(Math.min(...points.x, ...points.y)).toBe(0);
  const distances = [2, 0, 2].map((nearest, index) => Math.hypot(points.x[3 + index]! - points.x[nearest]!, points.y[3 + index]! - points.y[nearest]!));
  distances.forEach((distance) => expect(distance).toBeGreaterThan(0.2));
  distances.forEach((distance) => expect(distance).toBeLessThan(0.4));
  expect([points.x[3], points.y[3]]).not.toEqual([points.x[5], points.y[5]]); // Both lie next to item 2.
});

it("writes a line for each compared item, with empty cells for none", () => {
  const row = { id: 4, relation: "novel", similarity: null, nearest: null, name: "=x", smiles: "C", nearest_name: null, nearest_smiles: null } as const;
  expect(comparisonCsv([row])).toBe("id,name,smiles,relation,similarity,nearest_id,nearest_name,nearest_smiles\n4,'=x,C,novel,,,,");
});
