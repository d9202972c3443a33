import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import { parseEntries, type Identifier } from "./entries";
import { lookUpEntries } from "./lookup";

const SYNTAX = "this is not a molecule: SMILES Parse Error: check for mistakes around position 2:; syntax error (given x)";

/** Fake API client that reads SMILES of C and O and knows no names. */
const client = {
  itemsByIds: async () => [],
  searchBatch: async (identifiers: Identifier[]) =>
    identifiers.map((identifier, index) => {
      const readable = "smiles" in identifier && /^[CO]+$/.test(identifier.smiles);
      return { index, id: null, error: readable ? null : "name" in identifier ? "no item has this name" : SYNTAX, hits: [] };
    }),
} as unknown as Client;

async function outcomes(text: string, hasMolecules = true) {
  const results = await lookUpEntries(client, parseEntries(text, hasMolecules), new AbortController().signal);
  return results.map(({ outcome, reason }) => [outcome, reason]);
}

describe("an entry", () => {
  it("that looks like a name has an unknown name", async () => {
    expect(await outcomes("aspirin\nacetic acid")).toEqual([
      ["unnamed", null],
      ["unnamed", null],
    ]);
    expect(await outcomes("m16", false)).toEqual([["unnamed", null]]);
  });

  it("that is a name and a SMILES counts as a structure", async () => {
    expect(await outcomes("CCO")).toEqual([["missing", null]]);
  });

  it("that is a broken SMILES is unreadable", async () => {
    expect(await outcomes("c1ccc(")).toEqual([["unread", expect.stringMatching(/, and no item has this name$/)]]);
    expect(await outcomes("smiles\naspirin")).toEqual([["unread", expect.not.stringContaining("name")]]);
  });
});
