import { type Address, KNOWN } from "./address";
import { parsed } from "./filter/conditions";
import type { PropertyKinds } from "./look/columns";

const FILTER = '["PROPERTY",LEAST,MOST] or ["PROPERTY","TEXT"]';

/** What an address says that this page cannot read, a sentence each: it shows something else instead. */
export function unreadable(search: string): string[] {
  const given = new URLSearchParams(search);
  const words = Object.entries(KNOWN).flatMap(([name, known]) => {
    const text = given.get(name);
    return !text || known.includes(text) ? [] : [`There is no ${name} “${text}”. Known are ${known.join(", ")}.`];
  });
  const filters = given.getAll("filter").filter((text) => parsed(text).length === 0);
  return [
    ...words,
    ...filters.map((text) => `The filter “${text}” cannot be read, and nothing is filtered by it. A filter is ${FILTER}.`),
    ...similarities(given.get("min_similarity")),
  ];
}

function similarities(text: string | null): string[] {
  if (!text || (Number(text) > 0 && Number(text) <= 1)) return [];
  return [`The min_similarity “${text}” cannot be read. It is a number above 0, at most 1.`];
}

/** Properties that an address names where they count and a collection does not have, a sentence each. */
export function inapplicable(address: Address, properties: PropertyKinds): string[] {
  const numbers = Object.keys(properties).filter((name) => properties[name] === "number");
  const known = numbers.length ? `Properties with numbers are ${numbers.join(", ")}.` : "No property here has numbers.";
  const { q, part, view, property, colour } = address;
  const compared = q === null && (part === "cliffs" || part === "clusters") ? [property] : [];
  const coloured = (q === null && part === "map") || view === "graph" ? [colour] : [];
  const filters = address.filters.filter((each) => !Object.hasOwn(properties, each.property));
  const unknown = filters.map((each) => `This collection has no property “${each.property}” to filter by.`);
  const numberless = [...compared, ...coloured]
    .filter((name) => name !== null && !numbers.includes(name))
    .map((name) => `This collection has no property “${name}” with numbers. ${known}`);
  return [...unknown, ...numberless];
}
