import { expect, it } from "vitest";
import { beginningOf, collectionNameOf, nameProblem, pastedFile } from "./files";

it("a preview needs the beginning of a long table", async () => {
  const { file, isPartial } = beginningOf(new File(["smiles,id\n", "CCO,ethanol\n".repeat(50_000)], "long.csv"));
  expect([file.name, file.size, isPartial]).toEqual(["long.csv", 262_144, true]);
  expect(await file.text()).toMatch(/^smiles,id\nCCO,ethanol\n/);
});

it("short and binary files are sent whole", () => {
  for (const file of [new File(["CCO"], "a.smi"), new File(["x".repeat(400_000)], "a.xlsx")]) expect(beginningOf(file)).toEqual({ file, isPartial: false });
});

it.each([
  ["CCO ethanol\nCCN", "pasted.smi"],
  ["SMILES\tIC50 nM\nCCO\t3", "pasted.csv"],
  ["a,smiles\n1,CCO", "pasted.csv"],
  ["x\n\n\nM  END\n$$$$", "pasted.sdf"],
])("pasted text %j is read as %s", (text, name) => expect(pastedFile(text).name).toBe(name));

it.each([
  ["Compounds 2024.csv", "compounds-2024"],
  ["chembl_33.sdf.gz", "chembl_33"],
  ["Wirkstoffe Ä (neu).xlsx", "wirkstoffe-a-neu"],
  ["化合物.smi", "molecules"],
])("a file %j becomes the collection %s", (file, name) => {
  expect(collectionNameOf(file)).toBe(name);
  expect(nameProblem(name, [])).toBeNull();
});

it("names that are taken or have other characters are refused", () => {
  expect(nameProblem("nci", ["nci"])).toContain("already");
  expect(nameProblem("My set", [])).toContain("lower-case");
});
