/** Pair counts of a collection or of one item: stored pairs, and pairs that the top-k limit truncated. */
interface Pairs {
  stored: number;
  /** Null if the truncated pairs were not counted. */
  truncated: number | null;
}

/** Return a sentence about the truncated pairs; null if no pair was truncated or the number is unknown. */
export function truncation({ stored, truncated }: Pairs, recipe: { threshold: number; top_k?: number | null }): string | null {
  if (!truncated) return null;
  const formatCount = (value: number) => value.toLocaleString("en");
  const storedText = `${formatCount(stored)} of ${formatCount(stored + truncated)} pairs at or above ${recipe.threshold}`;
  return `${storedText} are stored (top-k ${formatCount(recipe.top_k ?? 0)}); ${formatCount(truncated)} ${truncated === 1 ? "is" : "are"} truncated.`;
}
