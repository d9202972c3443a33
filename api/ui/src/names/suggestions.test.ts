import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import { suggestions } from "./suggestions";

const NAMES = ["Aspartame", "aspirin", "asparagine", "aspoxicillin", "benzene"];

/** Answers queries by name as the API would. */
const client = {
  query: async ({ name }: { name: string }) => ({
    items: NAMES.filter((each) => each.toLowerCase().startsWith(name)).map((each) => ({ names: ["1", each] })),
  }),
} as unknown as Client;

describe("suggestions", () => {
  const never = new AbortController().signal;

  it("begin as the text does, in any case", async () => {
    expect(await suggestions(client, " ASPIR ", never)).toEqual(["aspirin"]);
  });

  it("of a mistyped name begin as its first half does, the closest first", async () => {
    expect(await suggestions(client, "asprin", never)).toEqual(["aspirin", "asparagine", "Aspartame"]);
  });

  it("are none where nothing begins alike", async () => {
    expect(await suggestions(client, "xylene", never)).toEqual([]);
    expect(await suggestions(client, "ax", never)).toEqual([]);
  });
});
