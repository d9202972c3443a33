import { describe, expect, it } from "vitest";
import { withCaption, isComparisonTimeout, withoutAlignment } from "./svgCache";

describe("an aligned depiction", () => {
  it("has a URL without the alignment", () => {
    const url = "/v1/collections/c/items/3/depiction.svg?width=300&height=210&highlight_smiles=C%2BC&mark=shared&generation=ab";
    expect(withoutAlignment(url)).toBe("/v1/collections/c/items/3/depiction.svg?width=300&height=210&generation=ab");
    expect(withoutAlignment(withoutAlignment(url)!)).toBeNull();
    expect(withoutAlignment("/v1/collections/c/structure.svg?smiles=CC&width=9&highlight_smiles=C&mark=shared&turned=false")).toBe(
      "/v1/collections/c/structure.svg?smiles=CC&width=9",
    );
  });

  it("shows a caption if the comparison took too long", () => {
    const timeoutSvg = "<svg><desc>comparison took too long (more than 2 s): nothing is marked</desc></svg>\n";
    expect(isComparisonTimeout(timeoutSvg)).toBe(true);
    expect(withCaption(timeoutSvg)).toMatch(/>comparison took too long<\/text><\/svg>$/);
    const alignedSvg = "<svg><desc>3 atoms shared with CCC</desc></svg>";
    expect(isComparisonTimeout(alignedSvg)).toBe(false);
    expect(withCaption(alignedSvg)).toBe(alignedSvg);
  });
});
