import type { Item } from "../api/replies";

/** What to call an item: its first name, its SMILES, or its id. */
export function title(item: Item): string {
  return item.names.find((name) => name.trim()) ?? item.smiles ?? `item ${item.id}`;
}

/** What a picture of an item shows, for who cannot see it. */
export function description(item: Item): string {
  const name = title(item);
  if (item.smiles === null) return `Graph ${name}`;
  return name === item.smiles ? `Structure of ${name}` : `Structure of ${name}, ${item.smiles}`;
}

/** How the address says an item: by structure, else by name, which may not single it out, else by id. */
export function addressOf(item: Item): string {
  return item.smiles ?? item.names[0] ?? `#${item.id}`;
}

/** How the address says an item that must be met again: by structure, else by id. */
export function exactly(item: Item): string {
  return item.smiles ?? `#${item.id}`;
}
