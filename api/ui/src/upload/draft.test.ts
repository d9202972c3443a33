import { expect, it } from "vitest";
import type { Preview } from "../api/replies";
import { draft } from "./draft.svelte";

const column = (name: string, role: string) => ({ name, role });
const preview = {
  format: "csv",
  delimiter: "semicolon",
  encoding: null,
  decimal: ",",
  smiles_column: "Structure",
  name_column: "Code",
  columns: [column("Code", "name"), column("Structure", "structure"), column("IC50 nM", "property"), column("Batch", "property")],
} as unknown as Preview;
const reading = [["format", "csv"], ["delimiter", "semicolon"], ["decimal", ","], ["smiles_column", "Structure"], ["name_column", "Code"]];

it("an upload reads the file as the preview did", () => {
  draft.choose(new File(["x"], "Compounds 2026.csv"));
  draft.recipe.standardize = ["largest_fragment", "uncharge"];
  expect(draft.uploadFields(preview)).toEqual([
    ["name", "compounds-2026"],
    ["duplicates", "first"],
    ["fingerprint", "morgan"],
    ["threshold", "0.4"],
    ["top_k", "70"],
    ["standardize", "largest_fragment"],
    ["standardize", "uncharge"],
    ...reading,
    ["max_rejected", "0.1"],
  ]);
});

it("columns are named only if some are left out, and an empty field keeps none", () => {
  draft.choose(new File(["x"], "a.csv"));
  draft.isAppend = true;
  draft.droppedColumns = ["Batch"];
  expect(draft.uploadFields(preview)).toEqual([...reading, ["properties", "IC50 nM"], ["max_rejected", "0.1"]]);
  draft.droppedColumns = ["Batch", "IC50 nM"];
  expect(draft.uploadFields(preview)).toContainEqual(["properties", ""]);
});

it("a preview is sent the units that the user has set, and an upload those of the columns that it keeps", () => {
  draft.choose(new File(["x"], "a.csv"));
  draft.isAppend = true;
  draft.units = { "IC50 nM": "uM", Batch: "none" };
  draft.droppedColumns = ["Batch"];
  expect(draft.readFields()).toEqual([["unit", "IC50 nM=uM"], ["unit", "Batch=none"]]);
  expect(draft.uploadFields(preview)).toEqual([...reading, ["properties", "IC50 nM"], ["unit", "IC50 nM=uM"], ["max_rejected", "0.1"]]);
  draft.choose(new File(["x"], "b.csv"));
  expect(draft.readFields()).toEqual([]);
});
