import { drawing as asked } from "../api/client";
import { patiently } from "../patience";
import { Turns } from "./turns";

const AT_ONCE = 4; // of the 6 connections that a browser opens, so that answers need not wait for pictures
const COMPARED_AT_ONCE = 2; // of these, because a comparison may take seconds: plain pictures do not wait for them
const COMPARISON = ["highlight_smiles", "mark", "turned"];
const TOO_LONG = "comparison took too long";
const KEPT = 500;

const turns = new Turns(AT_ONCE);
const comparisons = new Turns(COMPARED_AT_ONCE);
const kept = new Map<string, string>();

/** The SVG at an address, which names a generation, so that it never changes. */
export async function drawing(address: string, signal: AbortSignal, urgent = false): Promise<string> {
  const known = kept.get(address);
  const draw = () => turns.take(() => asked(address, signal), signal, urgent);
  const compare = () => comparisons.take(draw, signal, urgent);
  const svg = known ?? (await patiently(plain(address) === null ? draw : compare, signal));
  kept.delete(address);
  kept.set(address, svg); // as the latest
  const [oldest] = kept.keys();
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
  return svg;
}

/** Whether a picture is here already. */
export function isKept(address: string): boolean {
  return kept.has(address);
}

/** Where the picture is that is not compared with another; null where an address is of such a picture. */
export function plain(address: string): string | null {
  const [path = "", search = ""] = address.split("?");
  const parameters = new URLSearchParams(search);
  if (!parameters.has("highlight_smiles")) return null;
  COMPARISON.forEach((name) => parameters.delete(name));
  return `${path}?${parameters}`;
}

/** Whether a picture has no marks because the server could not compare it in time. */
export function isUncompared(svg: string): boolean {
  return svg.includes(`<desc>${TOO_LONG}`);
}

/** A picture as the page shows it: one that could not be compared says so at its lower edge. */
export function captioned(svg: string): string {
  if (!isUncompared(svg)) return svg;
  const text = `<text x="50%" y="98%" text-anchor="middle" font-family="sans-serif" font-size="11" fill="#56606a">`;
  return svg.replace(/<\/svg>\s*$/, `${text}${TOO_LONG}</text></svg>`);
}

/** For the `src` of an image. */
export function inline(svg: string): string {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}
