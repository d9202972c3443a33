import { describe, expect, it } from "vitest";
import { parseEntries } from "./entries";

const identifiers = (text: string, hasMolecules = true) => parseEntries(text, hasMolecules).map(({ identifiers }) => identifiers);

describe("a list", () => {
  it("has a structure or a name on each line, and an optional label behind a structure", () => {
    const text = "CCO ethanol\r\n\n InChI=1S/CH4/h1H4\nacetic acid\n";
    expect(parseEntries(text, true)).toEqual([
      { text: "CCO ethanol", label: "ethanol", identifiers: [{ smiles: "CCO" }, { name: "CCO ethanol" }] },
      {
        text: "InChI=1S/CH4/h1H4",
        label: null,
        identifiers: [{ inchi: "InChI=1S/CH4/h1H4" }, { name: "InChI=1S/CH4/h1H4" }],
      },
      { text: "acetic acid", label: "acid", identifiers: [{ smiles: "acetic" }, { name: "acetic acid" }] },
    ]);
    expect(identifiers("a b\nc", false)).toEqual([[{ name: "a b" }], [{ name: "c" }]]);
  });

  it("may be a table with a header", () => {
    const text = 'Name,SMILES,mass\n"a, b",CCO,46\nc,C(,\n,,\n';
    expect(parseEntries(text, true)).toEqual([
      { text: "CCO", label: "a, b", identifiers: [{ smiles: "CCO" }] },
      { text: "C(", label: "c", identifiers: [{ smiles: "C(" }] },
    ]);
    expect(identifiers("id;note\n7;x\n", true)).toEqual([[{ name: "7" }]]);
    expect(identifiers("smiles\nCC\n")).toEqual([[{ smiles: "CC" }]]);
    expect(identifiers("name\tsmiles\nx\tCC\n", false)).toEqual([[{ name: "x" }]]);
  });

  it("may be an SD file", () => {
    const block = (title: string) => `${title}\n  program\n\n  0  0  0  0  0  0            999 V2000\nM  END\n`;
    const text = `${block("one")}> <x>\n1\n\n$$$$\n${block("")}$$$$\n`;
    expect(parseEntries(text, true)).toEqual([
      { text: "one", label: null, identifiers: [{ molblock: block("one") }] },
      { text: "record 2", label: null, identifiers: [{ molblock: block("") }] },
    ]);
  });

  it("may be empty", () => {
    expect(parseEntries(" \n", true)).toEqual([]);
  });
});
