import { fetchSvg } from "../api/client";
import { retryWhileBusy } from "../busyRetry";
import { Semaphore } from "./semaphore";

const MAX_REQUESTS = 4; // of the 6 connections that a browser opens, so that answers need not wait for pictures
const MAX_COMPARISONS = 2; // of these, because a comparison may take seconds: plain pictures do not wait for them
const ALIGNMENT_PARAMETERS = ["highlight_smiles", "mark", "turned"];
const TIMEOUT_TEXT = "comparison took too long";
const CACHE_SIZE = 500;

const requests = new Semaphore(MAX_REQUESTS);
const comparisons = new Semaphore(MAX_COMPARISONS);
const cache = new Map<string, string>();

/** The SVG at an address, which names a generation, so that it never changes. */
export async function loadSvg(url: string, signal: AbortSignal, isUrgent = false): Promise<string> {
  const cached = cache.get(url);
  const fetchNow = () => requests.run(() => fetchSvg(url, signal), signal, isUrgent);
  const fetchComparison = () => comparisons.run(fetchNow, signal, isUrgent);
  const svg = cached ?? (await retryWhileBusy(withoutAlignment(url) === null ? fetchNow : fetchComparison, signal));
  cache.delete(url);
  cache.set(url, svg); // as the latest
  const [oldest] = cache.keys();
  if (cache.size > CACHE_SIZE && oldest !== undefined) cache.delete(oldest);
  return svg;
}

/** Whether a picture is here already. */
export function isCached(url: string): boolean {
  return cache.has(url);
}

/** Where the picture is that is not compared with another; null where an address is of such a picture. */
export function withoutAlignment(url: string): string | null {
  const [path = "", search = ""] = url.split("?");
  const parameters = new URLSearchParams(search);
  if (!parameters.has("highlight_smiles")) return null;
  ALIGNMENT_PARAMETERS.forEach((name) => parameters.delete(name));
  return `${path}?${parameters}`;
}

/** Whether a picture has no marks because the server could not compare it in time. */
export function isComparisonTimeout(svg: string): boolean {
  return svg.includes(`<desc>${TIMEOUT_TEXT}`);
}

/** A picture as the page shows it: one that could not be compared says so at its lower edge. */
export function withCaption(svg: string): string {
  if (!isComparisonTimeout(svg)) return svg;
  const text = `<text x="50%" y="98%" text-anchor="middle" font-family="sans-serif" font-size="11" fill="#56606a">`;
  return svg.replace(/<\/svg>\s*$/, `${text}${TIMEOUT_TEXT}</text></svg>`);
}

/** For the `src` of an image. */
export function toDataUrl(svg: string): string {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}
