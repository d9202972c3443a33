import type { Client } from "../api/client";
import type { SimilarItem } from "../api/replies";
import type { Reading } from "../find/reading";
import type { Paged } from "../paged";

const PAGE = 100;
const MOST = 1000; // hits of one search

/** What is similar to `subject`, at least `minSimilarity` if that is given. */
export interface Question {
  client: Client;
  subject: Reading;
  minSimilarity: number | null;
  /** Compare with the whole collection instead of reading the hierarchy. */
  exact: boolean;
}

/** What was found so far, most similar first. */
export interface Found extends Paged<Found> {
  hits: SimilarItem[];
  /** What was asked for at least; null for the most similar, however similar they are. */
  least: number | null;
  /** How many there are; null if nobody counted. */
  total: number | null;
  /** Whether the hierarchy left pairs of this item out. */
  capped: boolean;
}

/** The first page. A structure that is not stored is compared with the whole collection. */
export function ask(question: Question, signal: AbortSignal): Promise<Found> {
  return searches(question) ? search(question, PAGE, signal) : neighbours(question, [], null, signal);
}

/** Whether the whole collection is compared. */
export function searches({ subject, exact }: Pick<Question, "subject" | "exact">): boolean {
  return subject.smiles !== null && (exact || subject.item === null);
}

async function neighbours(
  question: Question,
  before: SimilarItem[],
  cursor: string | null,
  signal: AbortSignal,
): Promise<Found> {
  const { client, subject, minSimilarity } = question;
  if (subject.item === null) return { hits: [], least: minSimilarity, total: 0, capped: false, next: null };
  const parameters = { min_similarity: minSimilarity, limit: PAGE, cursor };
  const page = await client.neighbors(subject.item.id, parameters, signal);
  const hits = [...before, ...page.neighbors];
  const rest = page.next_cursor;
  return {
    hits,
    least: minSimilarity,
    total: page.total,
    capped: page.capped === true,
    next: rest === null ? null : (later) => neighbours(question, hits, rest, later),
  };
}

async function search(question: Question, limit: number, signal: AbortSignal): Promise<Found> {
  const { client, subject, minSimilarity } = question;
  const body = { smiles: subject.smiles ?? "", min_similarity: minSimilarity, limit };
  const { hits, total, query } = await client.search(body, signal);
  const further = Math.min(limit * 3, MOST);
  return {
    hits: hits.filter((hit) => hit.item.id !== query.id), // the query itself is in view already
    least: minSimilarity,
    total: total === null || query.id === null ? total : total - 1,
    capped: false,
    next: hits.length === limit && limit < MOST ? (later) => search(question, further, later) : null,
  };
}
