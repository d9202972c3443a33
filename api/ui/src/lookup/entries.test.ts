import { describe, expect, it } from "vitest";
import { entries } from "./entries";

const ways = (text: string, molecules = true) => entries(text, molecules).map(({ ways }) => ways);

describe("a list", () => {
  it("is a structure or a name a line, and what it is called beside", () => {
    const text = "CCO ethanol\r\n\n InChI=1S/CH4/h1H4\nacetic acid\n";
    expect(entries(text, true)).toEqual([
      { given: "CCO ethanol", called: "ethanol", ways: [{ smiles: "CCO" }, { name: "CCO ethanol" }] },
      {
        given: "InChI=1S/CH4/h1H4",
        called: null,
        ways: [{ inchi: "InChI=1S/CH4/h1H4" }, { name: "InChI=1S/CH4/h1H4" }],
      },
      { given: "acetic acid", called: "acid", ways: [{ smiles: "acetic" }, { name: "acetic acid" }] },
    ]);
    expect(ways("a b\nc", false)).toEqual([[{ name: "a b" }], [{ name: "c" }]]);
  });

  it("is a table with a header", () => {
    const text = 'Name,SMILES,mass\n"a, b",CCO,46\nc,C(,\n,,\n';
    expect(entries(text, true)).toEqual([
      { given: "CCO", called: "a, b", ways: [{ smiles: "CCO" }] },
      { given: "C(", called: "c", ways: [{ smiles: "C(" }] },
    ]);
    expect(ways("id;note\n7;x\n", true)).toEqual([[{ name: "7" }]]);
    expect(ways("smiles\nCC\n")).toEqual([[{ smiles: "CC" }]]);
    expect(ways("name\tsmiles\nx\tCC\n", false)).toEqual([[{ name: "x" }]]);
  });

  it("is an SD file", () => {
    const block = (title: string) => `${title}\n  program\n\n  0  0  0  0  0  0            999 V2000\nM  END\n`;
    const text = `${block("one")}> <x>\n1\n\n$$$$\n${block("")}$$$$\n`;
    expect(entries(text, true)).toEqual([
      { given: "one", called: null, ways: [{ molblock: block("one") }] },
      { given: "record 2", called: null, ways: [{ molblock: block("") }] },
    ]);
  });

  it("may be empty", () => {
    expect(entries(" \n", true)).toEqual([]);
  });
});
