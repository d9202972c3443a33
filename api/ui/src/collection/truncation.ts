/** Pairs of a collection, or of one item: those that are stored, and those that the top-k limit truncated. */
interface Pairs {
  stored: number;
  /** Null where they were not counted. */
  truncated: number | null;
}

/** That a list of stored pairs is truncated; null where it is not, or nobody knows. */
export function truncation({ stored, truncated }: Pairs, recipe: { threshold: number; top_k?: number | null }): string | null {
  if (!truncated) return null;
  const count = (value: number) => value.toLocaleString("en");
  const all = `${count(stored)} of ${count(stored + truncated)} pairs at or above ${recipe.threshold}`;
  return `${all} are stored (top-k ${count(recipe.top_k ?? 0)}); ${count(truncated)} ${truncated === 1 ? "is" : "are"} truncated.`;
}
