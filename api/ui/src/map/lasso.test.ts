import { expect, test } from "vitest";
import { formatLasso, parseLasso } from "./lasso";

test("a lasso is read from the text that was written for it", () => {
  const line = [{ x: 0.12345, y: 0.5 }, { x: 1, y: 0 }, { x: 0.25, y: -0.01 }];
  expect(formatLasso(line)).toBe("0.1235,0.5;1,0;0.25,-0.01");
  expect(parseLasso(formatLasso(line))).toEqual([{ x: 0.1235, y: 0.5 }, line[1], line[2]]);
});

test("a long lasso is shortened", () => {
  const line = Array.from({ length: 950 }, (_, index) => ({ x: index / 1000, y: 0.5 }));
  expect(parseLasso(formatLasso(line))).toHaveLength(95);
});

test("what is not a lasso is null", () => {
  for (const text of [null, "", "1,2;3,4", "1,2;3,4;5", "1,2;3,4;5,", "1,2;3,4;5,x", "1,2;3,4;5,6,7"]) expect(parseLasso(text)).toBeNull();
});
