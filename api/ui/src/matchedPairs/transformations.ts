import type { Transformation } from "../api/replies";
import type { PagedList } from "../paging";
import { formatterOf } from "../results/columns";

/** Smallest number of pairs of a transformation, unless the address has another one. It is the default of the API. */
export const DEFAULT_MIN_COUNT = 3;

/** Return the text that identifies a transformation in the address. */
export function transformationText({ from, to }: Pick<Transformation, "from" | "to">): string {
  return `${from}>>${to}`;
}

/** Parse that text. Returns null if it is not the text of a transformation. */
export function parseTransformation(text: string): { from: string; to: string } | null {
  const [from, to, ...rest] = text.split(">>");
  return from && to && rest.length === 0 ? { from, to } : null;
}

/** Return a function that formats changes of a property: with their sign, and all with the same number of decimals. */
export function changeFormatterOf(changes: (number | null)[]): (change: number | null) => string {
  const format = formatterOf(changes.map((change) => (change === null ? null : Math.abs(change))));
  return (change) => {
    if (change === null) return format(null);
    const text = format(Math.abs(change));
    return Number(text.replaceAll(",", "")) === 0 ? text : `${change < 0 ? "−" : "+"}${text}`;
  };
}

interface TransformationsPage {
  transformations: Transformation[];
  next_cursor: string | null;
}

/** Transformations of the pages loaded so far. */
export interface TransformationPages<Page extends TransformationsPage> extends PagedList<TransformationPages<Page>> {
  latestPage: Page;
  transformations: Page["transformations"];
}

/** Load the next page of transformations, or the first page if there is no previous one. */
export async function loadTransformations<Page extends TransformationsPage>(
  loadPage: (cursor: string | null, signal: AbortSignal) => Promise<Page>,
  signal: AbortSignal,
  previous: TransformationPages<Page> | null = null,
): Promise<TransformationPages<Page>> {
  const latestPage = await loadPage(previous?.latestPage.next_cursor ?? null, signal);
  const pages: TransformationPages<Page> = {
    latestPage,
    transformations: [...(previous?.transformations ?? []), ...latestPage.transformations],
    next: latestPage.next_cursor === null ? null : (nextSignal) => loadTransformations(loadPage, nextSignal, pages),
  };
  return pages;
}
