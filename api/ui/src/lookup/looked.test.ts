import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import { entries, type Way } from "./entries";
import { look } from "./looked";

const SYNTAX = "not a molecule: SMILES Parse Error: check for mistakes around position 2:; syntax error (given x)";

/** Answers as the API would that can read C and O, and has no names. */
const client = {
  itemsOf: async () => [],
  searchBatch: async (ways: Way[]) =>
    ways.map((way, index) => {
      const readable = "smiles" in way && /^[CO]+$/.test(way.smiles);
      return { index, id: null, error: readable ? null : "name" in way ? "no item has this name" : SYNTAX, hits: [] };
    }),
} as unknown as Client;

async function outcomes(text: string, molecules = true) {
  const looked = await look(client, entries(text, molecules), new AbortController().signal);
  return looked.map(({ outcome, reason }) => [outcome, reason]);
}

describe("what becomes of an entry", () => {
  it("that is a word and no structure: its name is not found", async () => {
    expect(await outcomes("aspirin\nacetic acid")).toEqual([
      ["unnamed", null],
      ["unnamed", null],
    ]);
    expect(await outcomes("m16", false)).toEqual([["unnamed", null]]);
  });

  it("that is a word and a structure: it is the structure", async () => {
    expect(await outcomes("CCO")).toEqual([["missing", null]]);
  });

  it("that is a broken structure: it cannot be read, nor is it a name", async () => {
    expect(await outcomes("c1ccc(")).toEqual([["unread", expect.stringMatching(/, and no item has this name$/)]]);
    expect(await outcomes("smiles\naspirin")).toEqual([["unread", expect.not.stringContaining("name")]]);
  });
});
