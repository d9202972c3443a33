import { expect, test } from "vitest";
import { type Axis, axisOf, fractionsOf, roundEnds, suggestedScale, ticksOf, valueAt } from "./axis";

const LOG: Axis = { type: "log", domain: [1, 10_000] };

test("suggestedScale is logarithmic for positive values that span three orders of magnitude", () => {
  expect(suggestedScale(Float64Array.of(3, NaN, 3000))).toBe("log");
  expect(suggestedScale(Float64Array.of(3, 2999))).toBe("linear");
  expect(suggestedScale(Float64Array.of(0, 3, 5000))).toBe("linear");
  expect(suggestedScale(Float64Array.of(NaN))).toBe("linear");
});

test("axisOf leaves space at both ends, and leaves out values that it cannot show", () => {
  expect(axisOf(Float64Array.of(0, NaN, 100), "linear")!.domain).toEqual([-3, 103]);
  const { domain } = axisOf(Float64Array.of(-5, 0, 1, 100, NaN), "log")!;
  expect(domain.map(Math.log10).map((value) => Number(value.toFixed(6)))).toEqual([-0.06, 2.06]);
  expect(axisOf(Float64Array.of(7), "linear")!.domain).toEqual([6.5, 7.5]);
  expect(axisOf(Float64Array.of(-1, 0, NaN), "log")).toBeNull();
});

test("fractionsOf and valueAt are inverse", () => {
  expect([...fractionsOf(LOG, Float64Array.of(1, 100, 10_000))]).toEqual([0, 0.5, 1]);
  expect([...fractionsOf(LOG, Float64Array.of(0, -1, NaN))]).toEqual([NaN, NaN, NaN]);
  expect(valueAt(LOG, 0.25)).toBeCloseTo(10);
  expect(valueAt({ type: "linear", domain: [2, 4] }, 0.5)).toBe(3);
});

test("ticksOf labels round values in the visible part", () => {
  const labels = (axis: Axis, range: [number, number]) => ticksOf(axis, range, 400, 100).flatMap(({ text }) => (text ? [text] : []));
  expect(labels({ type: "linear", domain: [0, 100] }, [0, 1])).toEqual(["0", "20", "40", "60", "80", "100"]);
  expect(labels({ type: "linear", domain: [0, 100] }, [0.2, 0.3])).toEqual(["20", "22", "24", "26", "28", "30"]);
  expect(labels(LOG, [0, 1])).toEqual(["1", "10", "100", "1,000", "10,000"]);
  expect(ticksOf(LOG, [0, 1], 400, 100).find(({ text }) => text === "100")!.position).toBeCloseTo(200);
});

test("roundEnds keeps as many digits as tell the ends of a range apart", () => {
  expect(roundEnds([123.456, 789.123])).toEqual([123.5, 789.1]);
  expect(roundEnds([300.01234, 300.04321])).toEqual([300.012, 300.043]);
  expect(roundEnds([0.00123456, 987654])).toEqual([0.001235, 987700]);
  expect(roundEnds([0.3, 0.3])).toEqual([0.3, 0.3]);
});
