import type { Client, Alignment, Size } from "../api/client";
import { Failure } from "../api/request";
import type { Item, Kind } from "../api/replies";
import { description } from "../results/item";

/** One possible meaning of a typed text. `item` is null for a structure that the collection does not contain. */
export interface Interpretation {
  matchedBy: "structure" | "inchikey" | "name" | "id" | "prefix";
  smiles: string | null;
  item: Item | null;
}

/** Possible meanings of a typed text, best first, and a complaint if there are none. */
export interface Interpretations {
  candidates: Interpretation[];
  complaint: string | null;
}

/** Largest number of items with one name or one InChIKey that are loaded. There may be more. */
export const MAX_NAMESAKES = 100;
/** Largest number of completions of a typed name. */
export const MAX_COMPLETIONS = 8;
const MIN_COMPLETED_LENGTH = 3; // characters
const MAX_LENGTH = 10_000; // characters, as in the API
const INCHIKEY = /^(?:InChIKey=)?([A-Z]{14}-[A-Z]{10}-[A-Z])$/;

/**
 * Interpret a text as a SMILES, InChI, InChIKey, name, or id (`17` or `#17`).
 *
 * Texts that the API rejects give a complaint. The promise rejects only if the API fails.
 */
export async function interpret(client: Client, kind: Kind, text: string, signal?: AbortSignal): Promise<Interpretations> {
  const trimmed = text.trim();
  if (trimmed.length > MAX_LENGTH)
    return { candidates: [], complaint: `The text is too long. The limit is ${MAX_LENGTH.toLocaleString("en")} characters.` };
  const id = /^#?(\d{1,9})$/.exec(trimmed)?.[1];
  const key = kind === "molecule" ? INCHIKEY.exec(trimmed)?.[1] : undefined;
  const canBeStructure = kind === "molecule" && key === undefined && !trimmed.startsWith("#");
  const [byStructure, byInchikey, byName, byId] = await Promise.all([
    canBeStructure ? catchRefusal(interpretStructure(client, trimmed, signal)) : [],
    key === undefined ? [] : catchRefusal(interpretItems(client, "inchikey", { inchikey: key }, signal)),
    interpretItems(client, "name", { name: trimmed }, signal),
    id === undefined ? [] : catchRefusal(interpretId(client, Number(id), signal)),
  ]);
  const candidates = [byStructure, byInchikey, byName, byId].flatMap((result) => (result instanceof Failure ? [] : result));
  if (candidates.length) return { candidates, complaint: null };
  if (id !== undefined) return { candidates, complaint: `No item has the id ${id}${trimmed === id ? ` or the name “${id}”` : ""}.` };
  if (key !== undefined) {
    const reason = byInchikey instanceof Failure ? "This collection stores no InChIKeys." : "No item has this InChIKey.";
    return { candidates, complaint: `${reason} Type a SMILES or InChI.` };
  }
  return { candidates, complaint: explain(trimmed, byStructure instanceof Failure ? byStructure.message : null) };
}

/** Items whose names begin with a typed text. */
export interface Completions {
  candidates: Interpretation[];
  /** Number of all such items, of which only some are candidates. */
  total: number;
}

/** Return items whose names begin with a text. A text of fewer than three characters has too many to be useful. */
export async function complete(client: Client, text: string, signal: AbortSignal): Promise<Completions> {
  const name = text.trim();
  if (name.length < MIN_COMPLETED_LENGTH || name.length > MAX_LENGTH) return { candidates: [], total: 0 };
  const { items, total } = await client.query({ name, limit: MAX_COMPLETIONS, columns: [] }, signal);
  const candidates = items.map(({ similarity: _, computed: __, ...item }): Interpretation => ({ matchedBy: "prefix", smiles: item.smiles, item }));
  return { candidates, total };
}

/**
 * Return the text by which the address names an interpretation: its SMILES, else a name that is unique among the
 * candidates, else `#id`.
 */
export function addressTextOf(interpretation: Interpretation, candidates: Interpretation[], text: string): string {
  if (interpretation.smiles !== null) return interpretation.smiles;
  const isUniqueName = candidates.filter((candidate) => candidate.matchedBy === "name").length === 1;
  return interpretation.matchedBy === "name" && isUniqueName ? text.trim() : `#${interpretation.item?.id}`;
}

/** Return the URL of the depiction of an interpretation, optionally aligned with another structure. */
export function depictionUrlOf(client: Client, { item, smiles }: Interpretation, size: Size, alignment: Alignment | null = null): string {
  return item ? client.depictionUrl(item, size, alignment) : client.structureDepictionUrl(smiles ?? "", size, alignment);
}

/** Describe that depiction for screen readers. */
export function descriptionOf({ item, smiles }: Interpretation): string {
  return item ? description(item) : `Structure of ${smiles}`;
}

/** Return the essential part of an RDKit error message, which repeats itself at length. */
export function shortenRdkitError(message: string): string {
  const position = /syntax error.*around position (\d+)/s.exec(message)?.[1];
  if (position !== undefined) return `syntax error around character ${position}`;
  const [firstPart = message] = message.replace(/^this is not a molecule: /, "").split(/;| while parsing| for input/);
  return firstPart.replace(/^SMILES Parse Error: /, "");
}

async function interpretStructure(client: Client, text: string, signal?: AbortSignal): Promise<Interpretation[]> {
  const structure = text.startsWith("InChI=") ? { inchi: text } : { smiles: text };
  const { smiles, id } = await client.structure(structure, signal);
  return [{ matchedBy: "structure", smiles, item: id === null ? null : await client.item(id, signal) }];
}

async function interpretId(client: Client, id: number, signal?: AbortSignal): Promise<Interpretation[]> {
  const item = await client.item(id, signal);
  return [{ matchedBy: "id", smiles: item.smiles, item }];
}

async function interpretItems(
  client: Client,
  matchedBy: "name" | "inchikey",
  parameters: { name: string } | { inchikey: string },
  signal?: AbortSignal,
): Promise<Interpretation[]> {
  const matches = await client.items({ ...parameters, limit: MAX_NAMESAKES }, signal);
  return matches.map((item) => ({ matchedBy, smiles: item.smiles, item }));
}

async function catchRefusal<Value>(response: Promise<Value>): Promise<Value | Failure> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof Failure && [404, 409, 422].includes(error.status)) return error;
    throw error;
  }
}

function noNameText(text: string): string {
  return `no item is named “${text.length > 40 ? `${text.slice(0, 40)}…` : text}”`;
}

/** Explain why a text has no interpretation. A text that looks like a name gets no SMILES syntax error. */
function explain(text: string, refusal: string | null): string {
  if (refusal !== null && !looksLikeName(text)) return `Not a structure (${shortenRdkitError(refusal)}), and ${noNameText(text)}.`;
  const sentence = `N${noNameText(text).slice(1)}`;
  return refusal === null ? `${sentence}.` : `${sentence}, and the text is not a SMILES or InChI.`;
}

/**
 * Whether a text looks like a name: it has none of the brackets and bond signs of structures, and it has a character
 * that SMILES do not use outside of brackets.
 */
export function looksLikeName(text: string): boolean {
  return /^[^()[\]=#@\\/]*$/.test(text) && /[^-+.:%$~*\dBCNOPSFIbcnopslr]/u.test(text);
}
