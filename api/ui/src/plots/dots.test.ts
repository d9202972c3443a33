import { expect, test } from "vitest";
import { FULL_WINDOW, moveBy, paintDots, projectionOf, toPixels, zoomAt } from "./dots";

const POSITIONS = { x: Float32Array.of(0, 0.5, 1, NaN), y: Float32Array.of(0, 0.5, 1, 0.5) };

test("toPixels points y downward", () => {
  const { x, y } = toPixels(POSITIONS, projectionOf(FULL_WINDOW, 200, 100));
  expect([[...x], [...y]]).toEqual([[0, 100, 200, NaN], [100, 50, 0, 50]]);
  expect([...toPixels(POSITIONS, projectionOf({ x: [0.5, 1], y: [0, 0.5] }, 200, 100)).x]).toEqual([-200, 0, 200, NaN]);
});

test("zoomAt keeps the point under the pointer", () => {
  const { x, y } = zoomAt(FULL_WINDOW, { x: 0.25, y: 0.5 }, 2);
  expect([x, y]).toEqual([[0.125, 0.625], [0.25, 0.75]]);
  expect(x[0] + (x[1] - x[0]) * 0.25).toBe(0.25);
  const farIn = zoomAt(FULL_WINDOW, { x: 0.5, y: 0.5 }, 1e9).x;
  expect(farIn[1] - farIn[0]).toBeGreaterThan(0);
});

test("moveBy moves by a share of the visible part", () => {
  expect(moveBy({ x: [0, 0.5], y: [0, 1] }, 0.5, -0.1)).toEqual({ x: [0.25, 0.75], y: [-0.1, 0.9] });
});

test("paintDots paints only points of a layer, and none without a value", () => {
  const image = new Uint32Array(10 * 10);
  const projection = projectionOf(FULL_WINDOW, 10, 10);
  paintDots(image, 10, POSITIONS, projection, Uint32Array.of(1, 2, 3, 4), 3, Uint8Array.of(0, 1, 0, 1), 1);
  expect([...new Set(image)].sort()).toEqual([0, 2]);
  paintDots(image, 10, POSITIONS, projection, Uint32Array.of(1, 2, 3, 4), 3);
  expect([...new Set(image)].sort()).toEqual([0, 1, 2, 3]);
  expect(image[9 * 10]).toBe(1); // the lower left corner
  expect(image[9]).toBe(3); // the upper right corner
});
