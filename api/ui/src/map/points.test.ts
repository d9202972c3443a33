import { expect, test } from "vitest";
import { idsInside, nearestPoint, paint, type Points, pointsOf, colorPoints, fitWindow, zoomAt } from "./points";

const POINTS: Points = {
  x: Float32Array.of(0, 1, 0.5, 0.5),
  y: Float32Array.of(0, 0, 0.5, 0.25),
  value: Float64Array.of(2, NaN, 4, 3),
  cluster: Int32Array.of(1, 1, 9, 2),
};

test("pointsOf parses rows", () => {
  const rows = '{"id":0,"x":0.5,"y":1.0,"value":null,"cluster":3}\n{"id":1,"x":0.0,"y":0.25,"value":7.5,"cluster":null}\n';
  const { x, y, value, cluster } = pointsOf(rows);
  expect([[...x], [...y], [...value], [...cluster]]).toEqual([[0.5, 0], [1, 0.25], [NaN, 7.5], [3, 0]]);
});

test("colorPoints reports the range of values and counts missing ones", () => {
  const { pixels, colors } = colorPoints(POINTS, true, "light");
  expect([colors.range, colors.missingCount]).toEqual([[2, 4], 1]);
  expect(new Set(pixels).size).toBe(4);
  expect(pixels[1]).toBe(0);
  const clusters = colorPoints(POINTS, false, "light");
  expect(clusters.pixels[0]).toBe(clusters.pixels[1]);
  expect([clusters.sizes[0], clusters.sizes[1], clusters.colors.components.length]).toEqual([2, 1, 7]);
});

test("paint draws each point inside the window and none outside of it", () => {
  const target = new Uint32Array(10 * 10);
  const mapWindow = fitWindow(POINTS, 10, 10, 1);
  paint(target, 10, POINTS, Uint32Array.of(1, 2, 3, 4), mapWindow, 1, [8, 9]);
  const pixelOf = (id: number) => [(POINTS.x[id]! - mapWindow.left) * mapWindow.scale, (POINTS.y[id]! - mapWindow.top) * mapWindow.scale].map(Math.round);
  for (const id of [0, 1, 2, 3]) expect(target[pixelOf(id)[1]! * 10 + pixelOf(id)[0]!]).toBe(id + 1);
  expect(target.filter(Boolean)).toHaveLength(4);
  target.fill(0);
  paint(target, 10, POINTS, Uint32Array.of(1, 2, 3, 4), { left: 0, top: 0, scale: 1000 }, 5, [8, 9]);
  expect(new Set(target)).toEqual(new Set([0, 1]));
  target.fill(0);
  paint(target, 10, { ...POINTS, x: Float32Array.of(1), y: Float32Array.of(1) }, Uint32Array.of(0), { left: 0, top: 0, scale: 5 }, 3, [8, 9]);
  expect([...target.filter(Boolean)]).toEqual([8, 8, 8, 8, 9, 8, 8, 8, 8]);
});

test("nearestPoint returns the nearest point within the distance", () => {
  expect(nearestPoint(POINTS, { x: 0.52, y: 0.3 }, 0.1)).toBe(3);
  expect(nearestPoint(POINTS, { x: 0.52, y: 0.3 }, 0.01)).toBeNull();
});

test("idsInside returns the points inside a concave lasso", () => {
  const line = [
    { x: -1, y: -1 },
    { x: 3, y: -1 },
    { x: 0.5, y: 0.3 },
    { x: 0, y: 0.6 },
  ];
  expect(idsInside(POINTS, line)).toEqual([0, 1, 3]);
});

test("zoomAt keeps the point under the pointer in place", () => {
  const mapWindow = zoomAt({ left: 0.25, top: 0, scale: 100 }, { x: 50, y: 20 }, 4);
  expect([(0.75 - mapWindow.left) * mapWindow.scale, (0.2 - mapWindow.top) * mapWindow.scale]).toEqual([50, expect.closeTo(20)]);
});
