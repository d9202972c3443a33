import { describe, expect, it } from "vitest";
import { captioned, isUncompared, plain } from "./drawing";

describe("a compared picture", () => {
  it("has an address without the comparison", () => {
    const compared = "/v1/collections/c/items/3/depiction.svg?width=300&height=210&highlight_smiles=C%2BC&mark=shared&generation=ab";
    expect(plain(compared)).toBe("/v1/collections/c/items/3/depiction.svg?width=300&height=210&generation=ab");
    expect(plain(plain(compared)!)).toBeNull();
    expect(plain("/v1/collections/c/structure.svg?smiles=CC&width=9&highlight_smiles=C&mark=shared&turned=false")).toBe(
      "/v1/collections/c/structure.svg?smiles=CC&width=9",
    );
  });

  it("says where the comparison took too long", () => {
    const late = "<svg><desc>comparison took too long (more than 2 s): nothing is marked</desc></svg>\n";
    expect(isUncompared(late)).toBe(true);
    expect(captioned(late)).toMatch(/>comparison took too long<\/text><\/svg>$/);
    const done = "<svg><desc>3 atoms shared with CCC</desc></svg>";
    expect(isUncompared(done)).toBe(false);
    expect(captioned(done)).toBe(done);
  });
});
