import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import { suggestNames } from "./suggestions";

const NAMES = ["Aspartame", "aspirin", "asparagine", "aspoxicillin", "benzene"];

/** Fake API client that answers queries by name. */
const client = {
  query: async ({ name }: { name: string }) => ({
    items: NAMES.filter((candidate) => candidate.toLowerCase().startsWith(name)).map((candidate) => ({ names: ["1", candidate] })),
  }),
} as unknown as Client;

describe("suggestions", () => {
  const signal = new AbortController().signal;

  it("start with the text, in any case", async () => {
    expect(await suggestNames(client, " ASPIR ", signal)).toEqual(["aspirin"]);
  });

  it("for a mistyped name start with its first half, the closest first", async () => {
    expect(await suggestNames(client, "asprin", signal)).toEqual(["aspirin", "asparagine", "Aspartame"]);
  });

  it("are empty if no name starts like the text", async () => {
    expect(await suggestNames(client, "xylene", signal)).toEqual([]);
    expect(await suggestNames(client, "ax", signal)).toEqual([]);
  });
});
