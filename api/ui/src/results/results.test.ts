import { describe, expect, it } from "vitest";
import { DEFAULT_ADDRESS } from "../address";
import type { Client } from "../api/client";
import type { components } from "../api/openapi";
import type { Item } from "../api/replies";
import type { Interpretation } from "../find/interpretation";
import { loadPages } from "../paging";
import { encodeIds } from "../lists/idEncoding";
import { columnsOf, propertiesOf } from "./columns";
import { limitedTo, loadFirstPage, sourceFor, withFilters } from "./results";

type Body = components["schemas"]["QueryBody"];

const item = (id: number): Item => ({
  id,
  smiles: `item ${id}`,
  names: [],
  inchikey: null,
  properties: {},
  degree: 0,
  dropped: 0,
});
const storedItem: Interpretation = { matchedBy: "structure", smiles: "item 0", item: item(0) };
const newStructure: Interpretation = { matchedBy: "structure", smiles: "C", item: null };
const graph: Interpretation = { matchedBy: "name", smiles: null, item: { ...item(3), smiles: null } };

/** Fake API client that returns items page by page. */
class FakeClient {
  constructor(readonly total: number) {}

  async query({ limit = 100, cursor }: Body) {
    const start = Number(cursor ?? 0);
    const end = Math.min(start + limit, this.total);
    const items = Array.from({ length: end - start }, (_, k) => ({ ...item(start + k), similarity: 0.5 }));
    return { generation: "", items, total: this.total, next_cursor: end < this.total ? String(end) : null };
  }
}

const fakeClient = (total: number) => new FakeClient(total) as unknown as Client;
const signal = new AbortController().signal;

describe("results", () => {
  it("load page after page, the first one shorter, with the total", async () => {
    let pages = await loadFirstPage(fakeClient(2500), {}, {}, signal);
    expect([pages.hits.length, pages.total]).toEqual([100, 2500]);
    while (pages.next) pages = await pages.next(signal);
    expect(pages.hits).toEqual(Array.from({ length: 2500 }, (_, id) => ({ item: item(id), similarity: 0.5 })));
  });

  it("load the requested number of pages, or all if there are fewer", async () => {
    for (const [pages, hits] of [[1, 100], [2, 1100], [9, 1250]] as const)
      expect((await loadPages(pages, loadFirstPage(fakeClient(1250), {}, {}, signal), signal)).hits.length).toBe(hits);
  });
});

describe("the request", () => {
  it("of some items keeps those that it listed before", () => {
    expect(limitedTo({ name: "asp" }, [3, 1])).toEqual({ name: "asp", ids: [3, 1] });
    expect(limitedTo({ name: "asp", ids: [1, 2] }, [3, 1])).toEqual({ name: "asp", ids: [1] });
    expect(limitedTo({ ids: [] }, [3, 1])).toEqual({ ids: [] });
  });

  it("of a stored item selects its neighbors, or all items but itself", () => {
    expect(sourceFor(storedItem, false, 0.5)).toEqual({ neighbors_of: { id: 0, min_similarity: 0.5 } });
    expect(sourceFor(storedItem, true, null)).toEqual({ similar: { smiles: "item 0", min_similarity: null, itself: false } });
    expect(sourceFor(graph, true, null)).toEqual({ neighbors_of: { id: 3, min_similarity: null } });
  });

  it("of a new structure selects similar items of the whole collection", () => {
    expect(sourceFor(newStructure, false, 0.4)).toEqual({ similar: { smiles: "C", min_similarity: 0.4, itself: false } });
  });

  it("contains the filters and the order of a column", () => {
    const properties = propertiesOf({ manifest: { properties: { id: "number", class: "text" }, qualifiers: {} } });
    const filters = [
      { property: "id", min: 0, max: null, contains: null },
      { property: "class", min: null, max: null, contains: "acid" },
    ];
    const address = { ...DEFAULT_ADDRESS, filters, name: "asp", scaffold: "", onlyIds: encodeIds([1]), sort: "-property:id" };
    expect(withFilters({ cluster: { id: 2 } }, address, properties, columnsOf(properties, null))).toEqual({
      cluster: { id: 2 },
      ids: [1],
      scaffold: "",
      filters: [
        { property: "property.id", min: 0 },
        { property: "class", contains: "acid" },
      ],
      name: "asp",
      substructure: null,
      sort: { by: "property.id", descending: true },
    });
  });
});
