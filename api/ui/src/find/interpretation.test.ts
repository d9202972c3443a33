import { describe, expect, it } from "vitest";
import type { Client } from "../api/client";
import { Failure } from "../api/request";
import type { Item } from "../api/replies";
import { shortenRdkitError, addressTextOf, interpret } from "./interpretation";

const KEY = "LFQSCWFLJHTTHZ-UHFFFAOYSA-N";
const ITEMS: Item[] = [
  ["CCO", "ethanol"],
  ["CO", "12"],
  ["CCC", "twin"],
  ["CCCC", "twin"],
].map(([smiles, name], id) => ({
  id,
  smiles: smiles ?? null,
  names: [name ?? ""],
  inchikey: id === 0 ? KEY : null,
  properties: {},
  degree: 0,
  dropped: null,
}));

const SYNTAX =
  "SMILES Parse Error: syntax error while parsing: c1cO@; SMILES Parse Error: check for mistakes around position 5:; " +
  "SMILES Parse Error: Failed parsing SMILES 'c1cO@' for input: 'c1cO@'";

/** Fake API client of a collection of four items. */
class FakeClient {
  calls: string[] = [];

  async structure(parameters: { smiles: string } | { inchi: string }) {
    const text = "smiles" in parameters ? parameters.smiles : "CCO";
    this.calls.push(Object.keys(parameters).join());
    if (!/^[CO]+$/.test(text)) throw new Failure(422, "Invalid value", `this is not a molecule: ${SYNTAX}`);
    return { generation: "", smiles: text, id: ITEMS.find((item) => item.smiles === text)?.id ?? null };
  }

  async items({ name, inchikey, limit }: { name?: string; inchikey?: string; limit?: number }) {
    this.calls.push(name === undefined ? "inchikey" : "name");
    if (name === "everybody") return Array.from({ length: 1000 }, () => ITEMS[0]!).slice(0, limit);
    return ITEMS.filter((item) => (name === undefined ? item.inchikey === inchikey : item.names.includes(name)));
  }

  async item(id: number) {
    const item = ITEMS[id];
    if (item === undefined) throw new Failure(404, "Not found", "no such item");
    return item;
  }
}

const fakeClient = () => new FakeClient() as unknown as Client;

describe("interpret", () => {
  it.each([
    [" CCO ", ["structure 0"]],
    ["CCCCC", ["structure new"]],
    ["InChI=1S/whatever", ["structure 0"]],
    ["ethanol", ["name 0"]],
    ["12", ["name 1"]],
    ["1", ["id 1"]],
    ["#3", ["id 3"]],
    ["twin", ["name 2", "name 3"]],
    [KEY, ["inchikey 0"]],
    [`InChIKey=${KEY}`, ["inchikey 0"]],
    ["99", []],
    ["🧪", []],
  ])("reads %j", async (text, expected) => {
    const { candidates, complaint } = await interpret(fakeClient(), "molecule", text);
    expect(candidates.map((candidate) => `${candidate.matchedBy} ${candidate.item?.id ?? "new"}`)).toEqual(expected);
    expect(complaint === null).toBe(expected.length > 0);
  });

  it("never reads a structure in a collection of graphs", async () => {
    const client = new FakeClient();
    const { candidates, complaint } = await interpret(client as unknown as Client, "graph", "CCO");
    expect([candidates, client.calls]).toEqual([[], ["name"]]);
    expect(complaint).toBe("No item is named “CCO”.");
  });

  it("returns at most 100 items of one name", async () => {
    expect((await interpret(fakeClient(), "molecule", "everybody")).candidates).toHaveLength(100);
  });
});

describe("the complaint", () => {
  it.each([
    ["c1cO@", "Not a structure (syntax error around character 5), and no item is named “c1cO@”."],
    ["aspirin", "No item is named “aspirin”, and the text is not a SMILES or InChI."],
    ["CHEMBL25", "No item is named “CHEMBL25”, and the text is not a SMILES or InChI."],
    ["hello world", "No item is named “hello world”, and the text is not a SMILES or InChI."],
    ["#99999", "No item has the id 99999."],
    ["99999", "No item has the id 99999 or the name “99999”."],
    ["BSYNRYMUTXBXSQ-UHFFFAOYSA-N", "No item has this InChIKey. Type a SMILES or InChI."],
  ])("explains why %j has no interpretation", async (text, complaint) => {
    expect(await interpret(fakeClient(), "molecule", text)).toEqual({ candidates: [], complaint });
  });

  it("says that a collection has no InChIKeys", async () => {
    const client = new FakeClient();
    const withoutInchikeys = { items: ({ name }: { name?: string }) => (name ? [] : Promise.reject(new Failure(409, "", ""))) };
    const { complaint } = await interpret(Object.assign(client, withoutInchikeys) as unknown as Client, "molecule", KEY);
    expect(complaint).toBe("This collection stores no InChIKeys. Type a SMILES or InChI.");
  });

  it.each([
    [SYNTAX, "syntax error around character 5"],
    [SYNTAX.replace("syntax error", "extra open parentheses"), "extra open parentheses"],
    ["this is not a molecule: SMILES Parse Error: unclosed ring for input: 'C1C'", "unclosed ring"],
    ["Can't kekulize mol.  Unkekulized atoms: 0 1 2 3 4", "Can't kekulize mol.  Unkekulized atoms: 0 1 2 3 4"],
  ])("contains the essence of RDKit's message %j", (message, shortText) => expect(shortenRdkitError(message)).toBe(shortText));

  it("rejects a text that is too long without asking the API", async () => {
    const client = new FakeClient();
    const { complaint } = await interpret(client as unknown as Client, "molecule", "C".repeat(20_000));
    expect([complaint, client.calls]).toEqual(["The text is too long. The limit is 10,000 characters.", []]);
  });

  it("does not hide an API that fails", async () => {
    for (const status of [0, 500, 503]) {
      const failingClient = { structure: () => Promise.reject(new Failure(status, "No answer", "")), items: async () => [] };
      await expect(interpret(failingClient as unknown as Client, "molecule", "CCO")).rejects.toThrow(Failure);
    }
  });
});

describe("the address of an interpretation", () => {
  const addressTexts = async (kind: "molecule" | "graph", text: string) => {
    const client = kind === "molecule" ? fakeClient() : graphClient();
    const { candidates } = await interpret(client, kind, text);
    return candidates.map((candidate) => addressTextOf(candidate, candidates, text));
  };
  const graphClient = () => {
    const client = new FakeClient();
    const withoutSmiles = (item: Item) => ({ ...item, smiles: null });
    return {
      items: async (parameters: { name?: string }) => (await client.items(parameters)).map(withoutSmiles),
      item: async (id: number) => withoutSmiles(await client.item(id)),
    } as unknown as Client;
  };

  it("is the SMILES of a molecule", async () => expect(await addressTexts("molecule", "ethanol")).toEqual(["CCO"]));
  it("is the name of a graph", async () => expect(await addressTexts("graph", " ethanol ")).toEqual(["ethanol"]));
  it("is the id of an item whose name is not unique", async () => expect(await addressTexts("graph", "twin")).toEqual(["#2", "#3"]));
});
