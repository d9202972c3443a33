/** A list that is loaded page by page. */
export interface PagedList<Pages> {
  /** Load the next page and return all pages so far; null after the last page. */
  next: ((signal: AbortSignal) => Promise<Pages>) | null;
}

/** Load the first `count` pages, or all if there are fewer. */
export async function loadPages<Pages extends PagedList<Pages>>(
  count: number,
  firstPage: Promise<Pages>,
  signal: AbortSignal,
): Promise<Pages> {
  let pages = await firstPage;
  for (let page = 1; page < count && pages.next; page++) pages = await pages.next(signal);
  return pages;
}
