import { type Client, Failure } from "../api/client";
import type { Item, Kind } from "../api/replies";

/** One thing that a text may mean. `id` and `item` are null for a structure that the collection does not hold. */
export interface Reading {
  as: "structure" | "name" | "id";
  smiles: string | null;
  item: Item | null;
}

/** What a text may mean, best first; and where it means nothing, why. */
export interface Readings {
  found: Reading[];
  complaint: string | null;
}

const MOST = 8; // items of one name
const LONGEST = 10_000; // characters, as in the API

/** Read a SMILES, InChI, name, or id (`17` or `#17`). Rejects only if the API fails, not for what it refuses. */
export async function read(client: Client, kind: Kind, text: string, signal?: AbortSignal): Promise<Readings> {
  const given = text.trim();
  if (given.length > LONGEST)
    return { found: [], complaint: `Too long: at most ${LONGEST.toLocaleString("en")} characters are read.` };
  const id = /^#?(\d{1,9})$/.exec(given)?.[1];
  const [structure, named, numbered] = await Promise.all([
    kind === "molecule" && !given.startsWith("#") ? refusable(asStructure(client, given, signal)) : null,
    client.items({ name: given, limit: MOST }, signal),
    id === undefined ? null : refusable(client.item(Number(id), signal)),
  ]);
  const found: Reading[] = [];
  if (structure !== null && !(structure instanceof Failure)) found.push(structure);
  found.push(...named.map((item): Reading => ({ as: "name", smiles: item.smiles, item })));
  if (numbered !== null && !(numbered instanceof Failure))
    found.push({ as: "id", smiles: numbered.smiles, item: numbered });
  const refusal = structure instanceof Failure ? structure.message : null;
  return { found, complaint: found.length ? null : complaint(given, refusal) };
}

/** How the address says a reading of `text`: by structure, else by a name that singles it out, else by id. */
export function inAddress(reading: Reading, all: Reading[], text: string): string {
  if (reading.smiles !== null) return reading.smiles;
  const alone = all.filter((other) => other.as === "name").length === 1;
  return reading.as === "name" && alone ? text.trim() : `#${reading.item?.id}`;
}

async function asStructure(client: Client, text: string, signal?: AbortSignal): Promise<Reading> {
  const given = text.startsWith("InChI=") ? { inchi: text } : { smiles: text };
  const { smiles, id } = await client.structure(given, signal);
  return { as: "structure", smiles, item: id === null ? null : await client.item(id, signal) };
}

async function refusable<Value>(asked: Promise<Value>): Promise<Value | Failure> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Failure && [404, 409, 422].includes(error.status)) return error;
    throw error;
  }
}

function complaint(text: string, refusal: string | null): string {
  const nobody = `nothing here is named “${text.length > 40 ? `${text.slice(0, 40)}…` : text}”`;
  if (refusal === null) return `${nobody[0]?.toUpperCase()}${nobody.slice(1)}.`;
  return `${plain(refusal)}, and ${nobody}.`;
}

/** The gist of what RDKit says, which repeats itself at length. */
function plain(refusal: string): string {
  const position = /around position (\d+)/.exec(refusal)?.[1];
  if (position !== undefined) return `Not a structure: look around character ${position}`;
  const [gist = refusal] = refusal.replace(/^not a molecule: /, "").split(/;| while parsing| for input/);
  return `Not a structure: ${gist.replace(/^SMILES Parse Error: /, "")}`;
}
