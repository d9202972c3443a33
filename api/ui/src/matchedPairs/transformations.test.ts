import { describe, expect, it } from "vitest";
import { changeFormatterOf, parseTransformation, transformationText } from "./transformations";

describe("a transformation in the address", () => {
  it.each([
    { from: "[*:1]C", to: "[*:1]Cl" },
    { from: "[*:1]/C=C/[*:2]", to: "[*:1]C#C[*:2]" },
  ])("round-trips $from to $to", (transformation) => {
    expect(parseTransformation(transformationText(transformation))).toEqual(transformation);
  });

  it.each(["", "[*:1]C", ">>", "[*:1]C>>", ">>[*:1]C", "C>>N>>O"])("does not read %j", (text) => {
    expect(parseTransformation(text)).toBeNull();
  });
});

describe("a change of a property", () => {
  it("has a sign and the decimals of the other changes", () => {
    const format = changeFormatterOf([0.5, -1.25, 0, null]);
    expect([0.5, -1.25, 0, null].map(format)).toEqual(["+0.50", "−1.25", "0.00", "–"]);
  });

  it("has no sign if it rounds to 0", () => {
    const format = changeFormatterOf([1.23456, -0.000012345 * 100]);
    expect(format(-0.0012345)).toBe("0.00");
    expect(changeFormatterOf([1234, -2])(-1234)).toBe("−1,234");
  });
});
