import { describe, expect, it } from "vitest";
import { format, parse, DEFAULT_ADDRESS } from "./address";
import { inapplicableProperties, unreadableParameters } from "./permalink";
import { propertiesOf } from "./results/columns";

describe("a permalink", () => {
  it("reports parameters that cannot be read", () => {
    expect(unreadableParameters("?part=clifs&filter=%5B%22mass%22%5D&filter=x&min_similarity=7&view=tiles")).toEqual([
      "Unknown part “clifs”. Accepted values: find, items, list, basket, plot, clusters, cliffs, rgroups, scaffolds, pairs, map, tree, compare, collection, upload.",
      'The filter “["mass"]” is not valid and was ignored. Accepted form: ["PROPERTY",MIN,MAX] or ["PROPERTY","TEXT"].',
      'The filter “x” is not valid and was ignored. Accepted form: ["PROPERTY",MIN,MAX] or ["PROPERTY","TEXT"].',
      "The min_similarity “7” is not valid. Accepted values: numbers above 0 and up to 1.",
    ]);
  });

  it("reports a list that cannot be read", () => {
    expect(unreadableParameters("", "#basket=%25&list=Hits")).toEqual(["The list of this link is not valid. Copy the whole link."]);
    expect(unreadableParameters("", "#basket=AA")).toEqual([]);
  });

  it("reports R groups that cannot be read", () => {
    const sentence = (text: string) => `The group “${text}” is not valid and was ignored. Accepted form: ["POSITION","SMILES"].`;
    expect(unreadableParameters("?group=R1&group=%5B%22R1%22%2C7%5D")).toEqual([sentence("R1"), sentence('["R1",7]')]);
    expect(unreadableParameters("?group=%5B%22R1%22%2C%22*C%22%5D")).toEqual([]);
  });

  it("is readable if the page wrote it", () => {
    const filters = [{ property: "mass", min: 1, max: null, contains: null }];
    const address = format({ ...DEFAULT_ADDRESS, part: "map", view: "tiles", filters, minSimilarity: 0.5, steepness: "difference", method: "single" });
    expect(unreadableParameters(address)).toEqual([]);
    expect(unreadableParameters("")).toEqual([]);
    expect(unreadableParameters("?part=&filter=%5B%22mass%22%2C1%2Cnull%5D")).toEqual([]);
  });

  it("reports properties that the collection does not have or that have no numbers", () => {
    const properties = propertiesOf({ manifest: { properties: { mass: "number", logP: "number", class: "text" }, qualifiers: {} } });
    const address = (search: string) => parse(search);
    expect(inapplicableProperties(address("?part=cliffs&property=mass&view=graph&colour=logP"), properties)).toEqual([]);
    expect(inapplicableProperties(address("?part=collection&property=potency&colour=class&x=potency"), properties)).toEqual([]);
    expect(inapplicableProperties(address("?part=plot&property=potency&x=potency&y=logP"), properties)).toHaveLength(1);
    expect(inapplicableProperties(address("?part=cliffs&property=potency&view=graph&colour=class"), properties)).toEqual([
      "This collection has no numeric property “potency”. Its numeric properties: mass, logP.",
      "This collection has no numeric property “class”. Its numeric properties: mass, logP.",
    ]);
    expect(inapplicableProperties(address("?filter=%5B%22potency%22%2C1%2Cnull%5D&filter=%5B%22mass%22%2C1%2Cnull%5D"), properties)).toEqual([
      "This collection has no property “potency” to filter by.",
    ]);
    expect(inapplicableProperties(address("?part=clusters&property=x"), {})).toEqual([
      "This collection has no numeric property “x”. It has no numeric properties.",
    ]);
  });
});
