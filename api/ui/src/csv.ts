import { csvFormat, type DSVRowString } from "d3-dsv";

const SIGNS = "=+\\-@＝＋－＠";
const NUMBER = "[+-](?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?";
const FORMULA = new RegExp(
  `(^|[;\\t\\r\\n])(?=[ "]*[${SIGNS}])(?![ "]*(?:${NUMBER}|[${SIGNS}])[ "]*(?:[;\\t\\r\\n]|$))`,
  "g",
);

/** Text that a spreadsheet shows and does not run: the rule of `export/cells.py`, tested by the same vectors. */
export function guardFormula(text: string): string {
  const guardedText = text.replace(FORMULA, "$1'");
  return /^[\t\r]/.test(guardedText) ? `'${guardedText}` : guardedText;
}

type Row = Record<string, string | number | undefined | null>;

/** A header and a line a row, texts as `guarded` gives them. */
export function formatCsv(rows: Row[]): string {
  const guardedText = rows.map((row) => Object.entries(row).map(([name, cell]) => [name, typeof cell === "string" ? guardFormula(cell) : cell]));
  return csvFormat(guardedText.map((cells) => Object.fromEntries(cells) as DSVRowString));
}
