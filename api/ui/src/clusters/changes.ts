import type { Item, LineageRow } from "../api/replies";

/** What happened to one cluster, or to the clusters that it was merged from. */
export interface Change {
  number: number;
  event: LineageRow["event"];
  rows: LineageRow[];
}

/** Return the changes that rows belong to, in order. */
export function changesOf(rows: LineageRow[]): Change[] {
  const changes: Change[] = [];
  for (const row of rows) {
    const last = changes.at(-1);
    if (last?.number === row.change) last.rows.push(row);
    else changes.push({ number: row.change, event: row.event, rows: [row] });
  }
  return changes;
}

/** Return the center of the largest later cluster of a change, or of the earlier cluster if it vanished. */
export function centerOf(change: Change, items: ReadonlyMap<number, Item>, earlierItems: ReadonlyMap<number, Item>): Item | null {
  const { before, after } = change.rows[0]!;
  const center = after === null ? before && earlierItems.get(before.centre) : items.get(after.centre);
  return center ?? null;
}

/**
 * Return a sentence that says what happened.
 *
 * @param noun - what the clustering method calls a cluster.
 */
export function sentence({ event, rows }: Change, noun = "cluster"): string {
  const { before, after } = rows[0]!;
  if (before === null) return `Appeared with ${count(after!.size, "new item")}.`;
  if (after === null) return `Vanished: ${before.size === 1 ? "its item was" : `its ${count(before.size, "item")} were`} removed.`;
  if (event === "split") return `Split: ${count(before.size, "item")} of earlier ${noun} ${number(before.id)}${removal(before.removed)}.`;
  if (event === "merged") {
    const added = after.added ? `, and ${count(after.added, "new item")}` : "";
    const earlier = rows.flatMap((row) => (row.before ? [`${number(row.shared)} of earlier ${noun} ${number(row.before.id)}`] : []));
    return `Merged: ${count(after.size, "item")}, ${earlier.join(", ")}${added}.`;
  }
  const verb = event === "grew" ? "Grew" : event === "shrank" ? "Shrank" : "Changed";
  const sizes = event === "replaced" ? `at ${count(after.size, "item")}` : `from ${number(before.size)} to ${count(after.size, "item")}`;
  return `${verb} ${sizes}: ${number(after.added)} new${removal(before.removed)}.`;
}

function removal(removed: number): string {
  return removed ? `, ${number(removed)} removed` : "";
}

function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? "" : "s"}`;
}

function number(amount: number): string {
  return amount.toLocaleString("en");
}
