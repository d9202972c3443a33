import type { RgroupRow } from "../api/replies";
import { title } from "../results/item";
import type { GroupCondition } from "./groupConditions";

/** Return the rows that have the R groups of all conditions. */
export function rowsWith(rows: RgroupRow[], conditions: GroupCondition[]): RgroupRow[] {
  return rows.filter(({ groups }) => conditions.every(({ label, smiles }) => groups[label] === smiles));
}

/** An R group and the number of rows that have it. */
export interface GroupCount {
  smiles: string;
  count: number;
}

/** Return the R groups at a position, the most frequent first. */
export function groupCounts(rows: RgroupRow[], label: string): GroupCount[] {
  const counts = new Map<string, number>();
  for (const { groups } of rows) {
    const smiles = groups[label];
    if (smiles !== undefined) counts.set(smiles, (counts.get(smiles) ?? 0) + 1);
  }
  return [...counts].map(([smiles, count]) => ({ smiles, count })).sort((a, b) => b.count - a.count || compare(a.smiles, b.smiles));
}

/**
 * Sort rows by a key: `name`, `property:NAME` or the label of a position, with a leading `-` for descending. Rows
 * without a value come last. An unknown key keeps the order.
 */
export function sortRows(rows: RgroupRow[], sort: string | null): RgroupRow[] {
  if (sort === null) return rows;
  const key = sort.replace(/^-/, "");
  const sign = sort.startsWith("-") ? -1 : 1;
  const value = (row: RgroupRow) => sortValue(row, key);
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return sign * compare(x, y);
  });
}

/** Return the sort key after a click on a column title: numbers start with the largest, and the next click reverses. */
export function nextSort(key: string, isNumeric: boolean, sort: string | null): string {
  const [first, second] = isNumeric ? [`-${key}`, key] : [key, `-${key}`];
  return sort === first ? second : first;
}

function sortValue(row: RgroupRow, key: string): unknown {
  if (key === "name") return title(row.item);
  if (key.startsWith("property:")) return row.item.properties[key.slice("property:".length)] ?? null;
  return row.groups[key] ?? null;
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Return the core of a row followed by its R groups. Depictions of the compound are aligned with it. */
export function coreWithGroups({ core, groups }: Pick<RgroupRow, "core" | "groups">): string {
  return [core, ...new Set(Object.values(groups))].join(".");
}

/** Return the short text of an R group: `H` for hydrogen, and `*` for the core. */
export function groupText(smiles: string): string {
  const text = smiles.replaceAll(/\[\*:\d+\]/g, "*");
  return text === "[H]*" || text === "*[H]" ? "H" : text;
}
