import { describe, expect, it } from "vitest";
import { DEFAULT_ADDRESS } from "../address";
import { encodeIds } from "../lists/idEncoding";
import { propertiesOf } from "../results/columns";
import { chipsOf } from "./chips";

const PROPERTIES = propertiesOf({ manifest: { properties: { mass: "number", class: "text" } } });
const MASS = { property: "mass", min: null, max: null, contains: null };

describe("filter chips", () => {
  it("say each filter in words", () => {
    const filters = [{ ...MASS, min: 300, max: 1350.5 }, { ...MASS, min: 0 }, { ...MASS, max: -1 }, { ...MASS, property: "class", contains: "acid" }, { ...MASS, property: "lost", min: 1 }];
    const address = { ...DEFAULT_ADDRESS, filters, name: "asp", substructure: { smarts: "[#7]" }, scaffold: "c1ccccc1", onlyIds: encodeIds([3, 5]), listName: "Hits" };
    expect(chipsOf(address, PROPERTIES).map(({ label }) => label)).toEqual([
      "mass 300 to 1,350.5",
      "mass ≥ 0",
      "mass ≤ -1",
      "class contains “acid”",
      "lost ≥ 1",
      "Name begins with “asp”",
      "Contains [#7]",
      "Scaffold c1ccccc1",
      "List “Hits” (2)",
    ]);
    expect(chipsOf({ ...DEFAULT_ADDRESS, scaffold: "" }, PROPERTIES)[0]?.label).toBe("No rings");
    expect(chipsOf({ ...DEFAULT_ADDRESS, onlyIds: "%" }, PROPERTIES)[0]?.label).toBe("Items of a link (0)");
    expect(chipsOf(DEFAULT_ADDRESS, PROPERTIES)).toEqual([]);
  });

  it("remove only their own filter", () => {
    const filters = [{ ...MASS, min: 1 }, { ...MASS, max: 2 }];
    const removals = chipsOf({ ...DEFAULT_ADDRESS, filters, name: "asp" }, PROPERTIES).map(({ removal }) => removal);
    expect(removals).toEqual([{ filters: [filters[1]] }, { filters: [filters[0]] }, { name: null }]);
  });
});
