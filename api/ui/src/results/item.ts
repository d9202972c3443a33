import type { Item } from "../api/replies";

/** An item and its similarity to the query; null if the similarity graph has no edge between them. */
export interface ComparedItem {
  item: Item;
  similarity: number | null;
}

/** What to call an item: its first name, its SMILES, or its id. */
export function title(item: Item): string {
  return nameOf(item) ?? item.smiles ?? `item ${item.id}`;
}

/** Its first name, if it has any. */
export function nameOf(item: Item): string | null {
  return item.names.find((name) => name.trim()) ?? null;
}

/** All its names, or what else to call it. */
export function names(item: Item): string {
  return item.names.filter((name) => name.trim()).join(", ") || title(item);
}

/** Its SMILES, unless that is what it is called. */
export function structure(item: Item): string | null {
  return item.smiles === title(item) ? null : item.smiles;
}

/** What a picture of an item shows, for who cannot see it. */
export function description(item: Item): string {
  if (item.smiles === null) return `Picture of ${title(item)}`;
  return `Structure of ${[title(item), structure(item)].filter(Boolean).join(", ")}`;
}

/** How the address says an item: by structure, else by name, which may not single it out, else by id. */
export function addressOf(item: Item): string {
  return item.smiles ?? item.names[0] ?? `#${item.id}`;
}

/** How the address says an item that must be met again: by structure, else by id. */
export function exactAddressOf(item: Item): string {
  return item.smiles ?? `#${item.id}`;
}
