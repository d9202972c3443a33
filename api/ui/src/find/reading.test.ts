import { describe, expect, it } from "vitest";
import { type Client, Failure } from "../api/client";
import type { Item } from "../api/replies";
import { inAddress, read } from "./reading";

const ITEMS: Item[] = [
  ["CCO", "ethanol"],
  ["CO", "12"],
  ["CCC", "twin"],
  ["CCCC", "twin"],
].map(([smiles, name], id) => ({
  id,
  smiles: smiles ?? null,
  names: [name ?? ""],
  inchikey: null,
  properties: {},
  degree: 0,
  dropped: null,
}));

const DETAIL = "not a molecule: SMILES Parse Error: check for mistakes around position 3:; SMILES Parse Error: x";

/** Answers as the API would over four items. */
class Four {
  asked: string[] = [];

  async structure(given: { smiles: string } | { inchi: string }) {
    const text = "smiles" in given ? given.smiles : "CCO";
    this.asked.push(Object.keys(given).join());
    if (!/^[CO]+$/.test(text)) throw new Failure(422, "Invalid value", DETAIL);
    return { generation: "", smiles: text, id: ITEMS.find((item) => item.smiles === text)?.id ?? null };
  }

  async items({ name }: { name?: string }) {
    return ITEMS.filter((item) => item.names.includes(name ?? ""));
  }

  async item(id: number) {
    const item = ITEMS[id];
    if (item === undefined) throw new Failure(404, "Not found", "no such item");
    return item;
  }
}

const four = () => new Four() as unknown as Client;

describe("a text is read as", () => {
  it.each([
    [" CCO ", ["structure 0"]],
    ["CCCCC", ["structure new"]],
    ["InChI=1S/whatever", ["structure 0"]],
    ["ethanol", ["name 0"]],
    ["12", ["name 1"]],
    ["1", ["id 1"]],
    ["#3", ["id 3"]],
    ["twin", ["name 2", "name 3"]],
    ["99", []],
    ["🧪", []],
  ])("%j", async (text, expected) => {
    const { found, complaint } = await read(four(), "molecule", text);
    expect(found.map((each) => `${each.as} ${each.item?.id ?? "new"}`)).toEqual(expected);
    expect(complaint === null).toBe(expected.length > 0);
  });

  it("no structure where the items are graphs", async () => {
    const client = new Four();
    const { found, complaint } = await read(client as unknown as Client, "graph", "CCO");
    expect([found, client.asked]).toEqual([[], []]);
    expect(complaint).toBe("Nothing here is named “CCO”.");
  });
});

describe("what is not understood", () => {
  it("is explained in one sentence", async () => {
    const { complaint } = await read(four(), "molecule", "C1C");
    expect(complaint).toBe("Not a structure: look around character 3, and nothing here is named “C1C”.");
  });

  it("is not even asked about when it is too long", async () => {
    const client = new Four();
    const { complaint } = await read(client as unknown as Client, "molecule", "C".repeat(20_000));
    expect([complaint, client.asked]).toEqual(["Too long: at most 10,000 characters are read.", []]);
  });

  it("is told from an API that fails", async () => {
    const down = { structure: () => Promise.reject(new Failure(0, "No answer", "")), items: async () => [] };
    await expect(read(down as unknown as Client, "molecule", "CCO")).rejects.toThrow(Failure);
  });
});

describe("the address names", () => {
  const readings = async (kind: "molecule" | "graph", text: string) => {
    const client = kind === "molecule" ? four() : graphs();
    const { found } = await read(client, kind, text);
    return found.map((each) => inAddress(each, found, text));
  };
  const graphs = () => {
    const client = new Four();
    const bare = (item: Item) => ({ ...item, smiles: null });
    return {
      items: async (given: { name?: string }) => (await client.items(given)).map(bare),
      item: async (id: number) => bare(await client.item(id)),
    } as unknown as Client;
  };

  it("molecules by structure", async () => expect(await readings("molecule", "ethanol")).toEqual(["CCO"]));
  it("graphs by name", async () => expect(await readings("graph", " ethanol ")).toEqual(["ethanol"]));
  it("namesakes by id", async () => expect(await readings("graph", "twin")).toEqual(["#2", "#3"]));
});
