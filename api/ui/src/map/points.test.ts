import { expect, test } from "vitest";
import { fitWindow, idsInside, moveBy, nearestItem, pixelOf, type Points, pointsOf, placeOf, zoomAt } from "./points";

const POINTS: Points = {
  x: Float32Array.of(0, 1, 0.5, 0.5),
  y: Float32Array.of(0, 0, 0.5, 0.25),
  value: Float64Array.of(2, NaN, 4, 3),
  cluster: Int32Array.of(1, 1, 9, 2),
};
const WINDOW = { left: 0.25, top: 0, scaleX: 100, scaleY: 50 };

test("pointsOf parses rows", () => {
  const rows = '{"id":0,"x":0.5,"y":1.0,"value":null,"cluster":3}\n{"id":1,"x":0.0,"y":0.25,"value":7.5,"cluster":null}\n';
  const { x, y, value, cluster } = pointsOf(rows);
  expect([[...x], [...y], [...value], [...cluster]]).toEqual([[0.5, 0], [1, 0.25], [NaN, 7.5], [3, 0]]);
});

test("fitWindow fills the canvas in both directions", () => {
  const mapWindow = fitWindow(POINTS, 420, 120, 10);
  expect(pixelOf(POINTS, 0, mapWindow)).toEqual({ x: expect.closeTo(10), y: expect.closeTo(10) });
  expect(pixelOf(POINTS, 1, mapWindow)).toEqual({ x: expect.closeTo(410), y: expect.closeTo(10) });
  expect(pixelOf(POINTS, 2, mapWindow).y).toBeCloseTo(110);
});

test("nearestItem returns the nearest item within a number of pixels", () => {
  const pixel = { x: 27, y: 15 };
  expect(nearestItem(POINTS, pixel, WINDOW, 5)).toBe(3);
  expect(nearestItem(POINTS, pixel, WINDOW, 2)).toBeNull();
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
  const pixel = { x: 50, y: 20 };
  const position = placeOf(pixel, WINDOW);
  const mapWindow = zoomAt(WINDOW, pixel, 4);
  expect(placeOf(pixel, mapWindow)).toEqual({ x: expect.closeTo(position.x), y: expect.closeTo(position.y) });
  expect([mapWindow.scaleX, mapWindow.scaleY]).toEqual([400, 200]);
});

test("moveBy moves the map with the pointer", () => {
  const before = pixelOf(POINTS, 2, WINDOW);
  const after = pixelOf(POINTS, 2, moveBy(WINDOW, { x: 7, y: -3 }));
  expect([after.x - before.x, after.y - before.y]).toEqual([expect.closeTo(7), expect.closeTo(-3)]);
});
