/** Part of a component: a single item, or items that are connected up to a similarity. */
export interface Part {
  /** Highest threshold that keeps the part connected; null for a single item. */
  similarity: number | null;
  size: number;
  /** Parts into which it splits above this similarity; empty for a single item. */
  children: Part[];
  /** An item of the part, as an index. */
  member: number;
}

/** An edge between two items, which are given as indices. */
export type Edge = readonly [source: number, target: number, similarity: number];

/**
 * Build the dendrogram of single linkage. Edges join the items from the most similar pair on.
 *
 * @returns the roots, one for each connected component.
 */
export function buildDendrogram(itemCount: number, edges: readonly Edge[]): Part[] {
  const owner = Int32Array.from({ length: itemCount }, (_, index) => index);
  const parts: (Part | undefined)[] = Array.from({ length: itemCount }, (_, index) => ({ similarity: null, size: 1, children: [], member: index }));
  const root = (index: number): number => {
    while (owner[index] !== index) {
      owner[index] = owner[owner[index]!]!;
      index = owner[index]!;
    }
    return index;
  };
  for (const [source, target, similarity] of edges.toSorted((a, b) => b[2] - a[2])) {
    const [a, b] = [root(source), root(target)];
    if (a === b) continue;
    parts[a] = join(parts[a]!, parts[b]!, similarity);
    parts[b] = undefined;
    owner[b] = a;
  }
  return parts.filter((part) => part !== undefined);
}

/** Join two parts. Parts that are joined at the same similarity separate at once. */
function join(a: Part, b: Part, similarity: number): Part {
  const children = [a, b].flatMap((part) => (part.similarity === similarity ? part.children : [part]));
  return { similarity, size: a.size + b.size, children, member: Math.min(a.member, b.member) };
}

/** A branch of a drawn dendrogram. It starts where the branch below splits, and ends where it splits or at its leaf. */
export interface Branch {
  part: Part;
  from: number;
  to: number;
  /** Branches into which it splits, the largest first; empty for a leaf. */
  children: Branch[];
  /** Number of items in smaller parts that separate from the branch and are not drawn. */
  omitted: number;
}

/**
 * Return the branches with at least `minSize` items. Smaller parts that separate are only counted.
 *
 * @param from - threshold at which the part is a component.
 */
export function condense(part: Part, from: number, minSize: number): Branch {
  let [current, omitted] = [part, 0];
  for (;;) {
    const large = current.children.filter(({ size }) => size >= minSize);
    const to = current.similarity ?? 1;
    if (large.length === 0) return { part: current, from, to, children: [], omitted };
    omitted += current.children.reduce((sum, { size }) => sum + size, 0) - large.reduce((sum, { size }) => sum + size, 0);
    if (large.length > 1) {
      const children = large.toSorted((a, b) => b.size - a.size).map((child) => condense(child, to, minSize));
      return { part: current, from, to, children, omitted };
    }
    current = large[0]!;
  }
}

/** Return the leaves of a branch, from top to bottom. */
export function leavesOf(branch: Branch): Branch[] {
  return branch.children.length === 0 ? [branch] : branch.children.flatMap(leavesOf);
}

/** Smallest sizes of a part that the page offers. */
export const MIN_SIZES = [1, 2, 3, 5, 10, 20, 50, 100, 200];

/** Return the smallest of `MIN_SIZES` with which a dendrogram has at most `maxLeaves` leaves. */
export function readableMinSize(part: Part, from: number, maxLeaves: number): number {
  return MIN_SIZES.find((size) => leavesOf(condense(part, from, size)).length <= maxLeaves) ?? MIN_SIZES.at(-1)!;
}

/** Return the items of a part, as indices. */
export function membersOf(part: Part): number[] {
  const members: number[] = [];
  const stack = [part];
  for (let next = stack.pop(); next; next = stack.pop()) {
    if (next.children.length === 0) members.push(next.member);
    else stack.push(...next.children);
  }
  return members;
}

/** Return the item with the largest sum of similarities to the other items of a part; the lower one of equal items. */
export function medoidOf(part: Part, edges: readonly Edge[]): number {
  const sums = new Map(membersOf(part).toSorted((a, b) => a - b).map((member) => [member, 0]));
  for (const [source, target, similarity] of edges) {
    const [sourceSum, targetSum] = [sums.get(source), sums.get(target)];
    if (sourceSum === undefined || targetSum === undefined) continue;
    sums.set(source, sourceSum + similarity).set(target, targetSum + similarity);
  }
  return [...sums].reduce((best, entry) => (entry[1] > best[1] ? entry : best))[0];
}

/** A branch with the row of its line; leaves have the rows 0, 1, 2 and so on. */
export interface PlacedBranch {
  branch: Branch;
  row: number;
  /** Rows of the first and the last child; null for a leaf. */
  span: [number, number] | null;
}

/** Return the branch and all branches above it with their rows. */
export function placeBranches(branch: Branch): PlacedBranch[] {
  let leafCount = 0;
  const placed: PlacedBranch[] = [];
  const place = (current: Branch): number => {
    const rows = current.children.map(place);
    const span: [number, number] | null = rows.length ? [rows[0]!, rows.at(-1)!] : null;
    const row = span ? (span[0] + span[1]) / 2 : leafCount++;
    placed.push({ branch: current, row, span });
    return row;
  };
  place(branch);
  return placed;
}
