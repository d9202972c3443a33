import { describe, expect, it } from "vitest";

import { formatCsv, guardFormula } from "./csv";
import vectors from "./csv.vectors.json";

describe("guardFormula", () => {
  it.each(vectors)("turns %j into %j", (text, guardedText) => {
    expect(guardFormula(text!)).toBe(guardedText);
  });
});

it("formatCsv guards texts and leaves numbers unchanged", () => {
  expect(formatCsv([{ text: "=1+1", id: 3, similarity: -0.5, name: undefined, reason: 'no "name"' }])).toBe(
    'text,id,similarity,name,reason\n\'=1+1,3,-0.5,,"no ""name"""',
  );
});
