import { csvFormat, type DSVRowString } from "d3-dsv";

const SIGNS = "=+\\-@＝＋－＠";
const NUMBER = "[+-](?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?";
const FORMULA = new RegExp(
  `(^|[;\\t\\r\\n])(?=[ "]*[${SIGNS}])(?![ "]*(?:${NUMBER}|[${SIGNS}])[ "]*(?:[;\\t\\r\\n]|$))`,
  "g",
);

/**
 * Prefix formulas with an apostrophe, so that a spreadsheet shows them instead of running them.
 *
 * The rule is that of `graphkin/export/cells.py`. The tests of both use the same vectors.
 */
export function guardFormula(text: string): string {
  const guardedText = text.replace(FORMULA, "$1'");
  return /^[\t\r]/.test(guardedText) ? `'${guardedText}` : guardedText;
}

type Row = Record<string, string | number | undefined | null>;

/** Format rows as CSV with a header. Texts are guarded against formulas. */
export function formatCsv(rows: Row[]): string {
  const guardedRows = rows.map((row) => Object.entries(row).map(([name, cell]) => [name, typeof cell === "string" ? guardFormula(cell) : cell]));
  return csvFormat(guardedRows.map((cells) => Object.fromEntries(cells) as DSVRowString));
}
