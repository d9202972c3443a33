import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import { suggestNames } from "./suggestions";

const NAMES = ["Aspartame", "aspirin", "asparagine", "aspoxicillin", "benzene"];

/** Answers queries by name as the API would. */
const client = {
  query: async ({ name }: { name: string }) => ({
    items: NAMES.filter((candidate) => candidate.toLowerCase().startsWith(name)).map((candidate) => ({ names: ["1", candidate] })),
  }),
} as unknown as Client;

describe("suggestions", () => {
  const signal = new AbortController().signal;

  it("begin as the text does, in any case", async () => {
    expect(await suggestNames(client, " ASPIR ", signal)).toEqual(["aspirin"]);
  });

  it("of a mistyped name begin as its first half does, the closest first", async () => {
    expect(await suggestNames(client, "asprin", signal)).toEqual(["aspirin", "asparagine", "Aspartame"]);
  });

  it("are none where nothing begins alike", async () => {
    expect(await suggestNames(client, "xylene", signal)).toEqual([]);
    expect(await suggestNames(client, "ax", signal)).toEqual([]);
  });
});
