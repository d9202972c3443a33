/** What comes page by page. */
export interface PagedList<Pages> {
  /** Asks for all so far and the page after it; null if that was all. */
  next: ((signal: AbortSignal) => Promise<Pages>) | null;
}

/** The first so many pages. */
export async function loadPages<Pages extends PagedList<Pages>>(
  count: number,
  firstPage: Promise<Pages>,
  signal: AbortSignal,
): Promise<Pages> {
  let pages = await firstPage;
  for (let loaded = 1; loaded < count && pages.next; loaded++) pages = await pages.next(signal);
  return pages;
}
