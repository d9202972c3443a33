/** What comes page by page. */
export interface Paged<Found> {
  /** Asks for all so far and the page after it; null if that was all. */
  next: ((signal: AbortSignal) => Promise<Found>) | null;
}

/** The first so many pages. */
export async function upTo<Found extends Paged<Found>>(
  pages: number,
  first: Promise<Found>,
  signal: AbortSignal,
): Promise<Found> {
  let found = await first;
  for (let page = 1; page < pages && found.next; page++) found = await found.next(signal);
  return found;
}
