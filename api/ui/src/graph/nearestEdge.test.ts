import { expect, test } from "vitest";
import { nearestEdge } from "./nearestEdge";

const POINTS = [
  { x: 0, y: 0 },
  { x: 10, y: 0 },
  { x: 10, y: 10 },
];
const EDGES = {
  source: Int32Array.of(0, 1, 0),
  target: Int32Array.of(1, 2, 2),
  similarity: Float64Array.of(0.9, 0.8, 0.7),
};

test.each([
  [{ x: 5, y: 1 }, 3, 0],
  [{ x: 9, y: 5 }, 3, 1],
  [{ x: 4, y: 5 }, 3, 2],
  [{ x: 4, y: 5 }, 2, null],
  [{ x: -3, y: 0 }, 3, null],
  [{ x: 12, y: 12 }, 3, null],
])("the edge nearest to %j among the first %d", (point, edgeCount, edge) => {
  expect(nearestEdge(EDGES, edgeCount, POINTS, point, 2)).toBe(edge);
});
