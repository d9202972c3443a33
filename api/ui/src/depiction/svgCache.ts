import { fetchSvg } from "../api/client";
import { retryWhileBusy } from "../busyRetry";
import { Semaphore } from "./semaphore";

// Browsers open 6 connections per host. Two stay free, so that other requests need not wait for depictions.
const MAX_REQUESTS = 4;
// A comparison may take seconds, so comparisons leave some of these requests to plain depictions.
const MAX_COMPARISONS = 2;
const ALIGNMENT_PARAMETERS = ["highlight_smiles", "mark", "turned"];
const TIMEOUT_TEXT = "comparison took too long";
const CACHE_SIZE = 500;

const requests = new Semaphore(MAX_REQUESTS);
const comparisons = new Semaphore(MAX_COMPARISONS);
const cache = new Map<string, string>();

/**
 * Load the SVG of a depiction, from the cache if possible.
 *
 * The URL names a generation, so the content never changes.
 */
export async function loadSvg(url: string, signal: AbortSignal, isUrgent = false): Promise<string> {
  const cached = cache.get(url);
  const fetchNow = () => requests.run(() => fetchSvg(url, signal), signal, isUrgent);
  const fetchComparison = () => comparisons.run(fetchNow, signal, isUrgent);
  const svg = cached ?? (await retryWhileBusy(withoutAlignment(url) === null ? fetchNow : fetchComparison, signal));
  cache.delete(url);
  cache.set(url, svg); // A Map keeps insertion order, so the entry becomes the most recent one.
  const [oldest] = cache.keys();
  if (cache.size > CACHE_SIZE && oldest !== undefined) cache.delete(oldest);
  return svg;
}

/** Whether a depiction is in the cache. */
export function isCached(url: string): boolean {
  return cache.has(url);
}

/** Return the URL of the same depiction without an alignment; null if it has none. */
export function withoutAlignment(url: string): string | null {
  const [path = "", search = ""] = url.split("?");
  const parameters = new URLSearchParams(search);
  if (!parameters.has("highlight_smiles")) return null;
  ALIGNMENT_PARAMETERS.forEach((name) => parameters.delete(name));
  return `${path}?${parameters}`;
}

/** Whether a depiction lacks highlights because the server's comparison timed out. */
export function isComparisonTimeout(svg: string): boolean {
  return svg.includes(`<desc>${TIMEOUT_TEXT}`);
}

/** Add a caption at the lower edge if the comparison timed out. */
export function withCaption(svg: string): string {
  if (!isComparisonTimeout(svg)) return svg;
  const text = `<text x="50%" y="98%" text-anchor="middle" font-family="sans-serif" font-size="11" fill="#56606a">`;
  return svg.replace(/<\/svg>\s*$/, `${text}${TIMEOUT_TEXT}</text></svg>`);
}

/** Return a data URL for the `src` of an image. */
export function toDataUrl(svg: string): string {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}
