/** Pairs of a collection, or of one item: those that are stored, and those that the top-k limit truncated. */
interface Pairs {
  stored: number;
  /** Null where they were not counted. */
  truncated: number | null;
}

/** That a list of stored pairs is truncated; null where it is not, or nobody knows. */
export function truncation({ stored, truncated }: Pairs, recipe: { threshold: number; top_k?: number | null }): string | null {
  if (!truncated) return null;
  const formatCount = (value: number) => value.toLocaleString("en");
  const storedText = `${formatCount(stored)} of ${formatCount(stored + truncated)} pairs at or above ${recipe.threshold}`;
  return `${storedText} are stored (top-k ${formatCount(recipe.top_k ?? 0)}); ${formatCount(truncated)} ${truncated === 1 ? "is" : "are"} truncated.`;
}
