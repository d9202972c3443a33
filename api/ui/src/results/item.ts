import type { Item, Kind } from "../api/replies";

/** An item and its similarity to the query; null if the similarity graph has no edge between them. */
export interface ComparedItem {
  item: Item;
  similarity: number | null;
}

/** Return the noun for items of a kind: chemists call molecules compounds. */
export function itemNoun(kind: Kind, count = 1): string {
  return (kind === "molecule" ? "compound" : "item") + (count === 1 ? "" : "s");
}

/** Return whether items of a kind have fingerprints, so that two collections of it can be compared. */
export function hasFingerprints(kind: Kind): boolean {
  return kind === "molecule" || kind === "fingerprint";
}

/** Return the title of an item: its first name, its SMILES, or its id. */
export function title(item: Item): string {
  return nameOf(item) ?? item.smiles ?? `item ${item.id}`;
}

/** Return the first name of an item; null if it has none. */
export function nameOf(item: Item): string | null {
  return item.names.find((name) => name.trim()) ?? null;
}

/** Return all names of an item, or its title if it has none. */
export function allNames(item: Item): string {
  return item.names.filter((name) => name.trim()).join(", ") || title(item);
}

/** Return the SMILES of an item; null if the title is the SMILES. */
export function structure(item: Item): string | null {
  return item.smiles === title(item) ? null : item.smiles;
}

/** Describe the depiction of an item for screen readers. */
export function description(item: Item): string {
  if (item.smiles === null) return `Depiction of ${title(item)}`;
  return `Structure of ${[title(item), structure(item)].filter(Boolean).join(", ")}`;
}

/** Return the query text for an item: its SMILES, else its first name, which may not be unique, else `#id`. */
export function addressOf(item: Item): string {
  return item.smiles ?? item.names[0] ?? `#${item.id}`;
}

/** Return a text that identifies an item in the address: its SMILES, else `#id`. */
export function exactAddressOf(item: Item): string {
  return item.smiles ?? `#${item.id}`;
}

/**
 * Return the sign of an item's censored value, such as `>`; empty for a measured value.
 *
 * @param qualifier the property that holds the signs; null if no value is censored.
 */
export function censoringSign(item: Item, qualifier: string | null): string {
  return qualifier === null ? "" : String(item.properties[qualifier] ?? "");
}
