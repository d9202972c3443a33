import { expect, test } from "vitest";
import { colorPoints, LEVELS, paint, styleOf } from "./paint";
import { fitWindow, packColor, pixelOf, type Points } from "./points";

const POINTS: Points = {
  x: Float32Array.of(0, 1, 0.5, 0.5),
  y: Float32Array.of(0, 0, 0.5, 0.25),
  value: Float64Array.of(2, NaN, 4, 3),
  cluster: Int32Array.of(1, 1, 9, 2),
};

test("colorPoints reports the range of values and counts missing ones", () => {
  const { colors } = colorPoints(POINTS, true, "light");
  expect([colors.range?.min, colors.range?.max, colors.missingCount]).toEqual([2, 4, 1]);
  expect(new Set(colors.nodes).size).toBe(4);
  expect(colors.nodes[1]).toBeNull();
  const clusters = colorPoints(POINTS, false, "light");
  expect(clusters.colors.nodes[0]).toBe(clusters.colors.nodes[1]);
  expect([clusters.sizes[0], clusters.sizes[1], clusters.colors.components.length]).toEqual([2, 1, 7]);
});

test("styleOf fades items that do not match, and marks others", () => {
  const { colors } = colorPoints(POINTS, true, "light");
  const { pixels, levels } = styleOf(colors, "light", [0, 1], [1]);
  expect([...levels]).toEqual([LEVELS.plain, LEVELS.marked, LEVELS.faded, LEVELS.faded]);
  expect(pixels[2]).toBe(pixels[3]);
  expect(pixels[0]).toBe(packColor(colors.nodes[0]!));
  expect([...styleOf(colors, "light", null, []).levels]).toEqual([LEVELS.plain, LEVELS.missing, LEVELS.plain, LEVELS.plain]);
});

test("paint draws each point inside the window and none outside of it", () => {
  const style = { pixels: Uint32Array.of(1, 2, 3, 4), levels: new Uint8Array(4).fill(LEVELS.plain) };
  const target = new Uint32Array(10 * 10);
  const mapWindow = fitWindow(POINTS, 10, 10, 1);
  paint(target, 10, POINTS, style, mapWindow, 1, 9);
  for (const id of [0, 1, 2, 3]) {
    const { x, y } = pixelOf(POINTS, id, mapWindow);
    expect(target[Math.round(y) * 10 + Math.round(x)]).toBe(id + 1);
  }
  expect(target.filter(Boolean)).toHaveLength(4);
  target.fill(0);
  paint(target, 10, POINTS, style, { left: 0, top: 0, scaleX: 1000, scaleY: 1000 }, 5, 9);
  expect(new Set(target)).toEqual(new Set([0, 1]));
});

test("paint draws marked points with an outline above all others", () => {
  const points = { ...POINTS, x: Float32Array.of(1, 1), y: Float32Array.of(1, 1) };
  const style = { pixels: Uint32Array.of(1, 2), levels: Uint8Array.of(LEVELS.marked, LEVELS.plain) };
  const target = new Uint32Array(10 * 10);
  paint(target, 10, points, style, { left: 0, top: 0, scaleX: 5, scaleY: 5 }, 1, 9);
  expect([...target.filter(Boolean)]).toEqual([9, 9, 9, 9, 1, 9, 9, 9, 9]);
});
