import { type Client, Failure, type Likeness, type Size } from "../api/client";
import type { Item, Kind } from "../api/replies";
import { description } from "../look/item";

/** One thing that a text may mean. `item` is null for a structure that the collection does not hold. */
export interface Reading {
  as: "structure" | "inchikey" | "name" | "id";
  smiles: string | null;
  item: Item | null;
}

/** What a text may mean, best first; and where it means nothing, why. */
export interface Readings {
  found: Reading[];
  complaint: string | null;
}

/** Items of one name, or of one InChIKey: there may be more. */
export const MOST = 100;
const LONGEST = 10_000; // characters, as in the API
const INCHIKEY = /^(?:InChIKey=)?([A-Z]{14}-[A-Z]{10}-[A-Z])$/;

/**
 * Read a SMILES, InChI, InChIKey, name, or id (`17` or `#17`). Rejects only if the API fails, not for what it refuses.
 */
export async function read(client: Client, kind: Kind, text: string, signal?: AbortSignal): Promise<Readings> {
  const given = text.trim();
  if (given.length > LONGEST)
    return { found: [], complaint: `Too long: at most ${LONGEST.toLocaleString("en")} characters are read.` };
  const id = /^#?(\d{1,9})$/.exec(given)?.[1];
  const key = kind === "molecule" ? INCHIKEY.exec(given)?.[1] : undefined;
  const drawn = kind === "molecule" && key === undefined && !given.startsWith("#");
  const [structure, keyed, named, numbered] = await Promise.all([
    drawn ? refusable(asStructure(client, given, signal)) : [],
    key === undefined ? [] : refusable(items(client, "inchikey", { inchikey: key }, signal)),
    items(client, "name", { name: given }, signal),
    id === undefined ? [] : refusable(asId(client, Number(id), signal)),
  ]);
  const found = [structure, keyed, named, numbered].flatMap((each) => (each instanceof Failure ? [] : each));
  if (found.length) return { found, complaint: null };
  if (id !== undefined) return { found, complaint: `There is no item ${id}${given === id ? `, and ${nobody(id)}` : ""}.` };
  if (key !== undefined) {
    const none = keyed instanceof Failure ? "No InChIKeys are kept here" : "Nothing here has this InChIKey";
    return { found, complaint: `${none}: give a SMILES or InChI.` };
  }
  return { found, complaint: complaint(given, structure instanceof Failure ? structure.message : null) };
}

/** How the address says a reading of `text`: by structure, else by a name that singles it out, else by id. */
export function inAddress(reading: Reading, all: Reading[], text: string): string {
  if (reading.smiles !== null) return reading.smiles;
  const alone = all.filter((other) => other.as === "name").length === 1;
  return reading.as === "name" && alone ? text.trim() : `#${reading.item?.id}`;
}

/** Where the picture of a reading is, alone or compared with another structure. */
export function pictured(client: Client, { item, smiles }: Reading, size: Size, like: Likeness | null = null): string {
  return item ? client.depiction(item, size, like) : client.structureDepiction(smiles ?? "", size, like);
}

/** What that picture shows, for who cannot see it. */
export function described({ item, smiles }: Reading): string {
  return item ? description(item) : `Structure of ${smiles}`;
}

/** The gist of what RDKit says of a structure, which repeats itself at length. */
export function gist(refusal: string): string {
  const position = /syntax error.*around position (\d+)/s.exec(refusal)?.[1];
  if (position !== undefined) return `syntax error around character ${position}`;
  const [first = refusal] = refusal.replace(/^not a molecule: /, "").split(/;| while parsing| for input/);
  return first.replace(/^SMILES Parse Error: /, "");
}

async function asStructure(client: Client, text: string, signal?: AbortSignal): Promise<Reading[]> {
  const given = text.startsWith("InChI=") ? { inchi: text } : { smiles: text };
  const { smiles, id } = await client.structure(given, signal);
  return [{ as: "structure", smiles, item: id === null ? null : await client.item(id, signal) }];
}

async function asId(client: Client, id: number, signal?: AbortSignal): Promise<Reading[]> {
  const item = await client.item(id, signal);
  return [{ as: "id", smiles: item.smiles, item }];
}

async function items(
  client: Client,
  as: "name" | "inchikey",
  by: { name: string } | { inchikey: string },
  signal?: AbortSignal,
): Promise<Reading[]> {
  const called = await client.items({ ...by, limit: MOST }, signal);
  return called.map((item) => ({ as, smiles: item.smiles, item }));
}

async function refusable<Value>(asked: Promise<Value>): Promise<Value | Failure> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Failure && [404, 409, 422].includes(error.status)) return error;
    throw error;
  }
}

function nobody(text: string): string {
  return `nothing here is named “${text.length > 40 ? `${text.slice(0, 40)}…` : text}”`;
}

/** Why a text means nothing. What looks like a name is not told at which letter it stops to be a structure. */
function complaint(text: string, refusal: string | null): string {
  if (refusal !== null && !wordlike(text)) return `Not a structure: ${gist(refusal)}, and ${nobody(text)}.`;
  const first = `N${nobody(text).slice(1)}`;
  return refusal === null ? `${first}.` : `${first}, nor is it a SMILES or InChI.`;
}

/** Without brackets and signs that only structures have, and with a character that those have in brackets at most. */
export function wordlike(text: string): boolean {
  return /^[^()[\]=#@\\/]*$/.test(text) && /[^-+.:%$~*\dBCNOPSFIbcnopslr]/u.test(text);
}
