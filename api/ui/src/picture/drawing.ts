import { drawing as asked } from "../api/client";
import { patiently } from "../patience";
import { Turns } from "./turns";

const AT_ONCE = 4; // of the 6 connections that a browser opens, so that answers need not wait for pictures
const KEPT = 500;

const turns = new Turns(AT_ONCE);
const kept = new Map<string, string>();

/** The SVG at an address, which names a generation, so that it never changes. */
export async function drawing(address: string, signal: AbortSignal, urgent = false): Promise<string> {
  const known = kept.get(address);
  const svg = known ?? (await patiently(() => turns.take(() => asked(address, signal), signal, urgent), signal));
  kept.delete(address);
  kept.set(address, svg); // as the latest
  const [oldest] = kept.keys();
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
  return svg;
}

/** For the `src` of an image. */
export function inline(svg: string): string {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}
