import { describe, expect, it } from "vitest";
import { keysWith, propertiesOf } from "./columns";
import { valueColor } from "./valueColors";

const RANGE = { min: 1, max: 3, missingCount: 0 };

describe("the color of a value", () => {
  it("follows the range", () => {
    const colors = [1, 2, 3].map((value) => valueColor(value, RANGE, "light"));
    expect(new Set(colors).size).toBe(3);
    expect(valueColor(7, { ...RANGE, min: 7, max: 7 }, "light")).toBe(colors[1]);
  });

  it.each([null, undefined, "3"])("is missing for %j", (value) => {
    expect(valueColor(value, RANGE, "light")).toBeNull();
  });
});

describe("the column of a color", () => {
  it("is shown in addition to the selected ones", () => {
    const properties = propertiesOf({ manifest: { properties: { a: "number", b: "number" }, qualifiers: {} } });
    expect(keysWith(properties, ["a"], "b")).toEqual(["a", "b"]);
    expect(keysWith(properties, null, "b")).toBeNull();
    expect(keysWith(properties, ["a"], "unknown")).toEqual(["a"]);
    expect(keysWith(properties, ["a"], null)).toEqual(["a"]);
  });
});
