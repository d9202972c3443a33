import { dsvFormat } from "d3-dsv";

/** One entry of a list: its text, the label beside it, and what it may identify. */
export interface Entry {
  text: string;
  label: string | null;
  /** Possible identifiers, the likeliest first. */
  identifiers: Identifier[];
}

/** A structure in a notation of the API, or the name of an item. */
export type Identifier = { smiles: string } | { inchi: string } | { molblock: string } | { name: string };

const MOLBLOCK_END = "M  END";
const STRUCTURE_COLUMNS = ["smiles", "canonical_smiles", "isomeric_smiles", "structure", "inchi"];
const NAME_COLUMNS = ["name", "names", "title", "compound", "id"];

/** Parse a pasted text or a file: an SD file, a table with a header, or lines with a structure or name each. */
export function parseEntries(text: string, hasMolecules: boolean): Entry[] {
  if (hasMolecules && text.includes(MOLBLOCK_END)) return parseSdf(text);
  return parseTable(text, hasMolecules) ?? parseLines(text, hasMolecules);
}

function parseSdf(text: string): Entry[] {
  const parts = text.replaceAll("\r", "").split(/^\$\$\$\$.*\n?/m);
  return parts.filter((part) => part.trim() !== "").map((part, index) => {
    const [title = ""] = part.split("\n", 1);
    const end = part.indexOf(MOLBLOCK_END);
    const molblock = end < 0 ? part : `${part.slice(0, end + MOLBLOCK_END.length)}\n`;
    return { text: title.trim() || `record ${index + 1}`, label: null, identifiers: [{ molblock }] };
  });
}

/** Parse a table. Return null if no column title is known. */
function parseTable(text: string, hasMolecules: boolean): Entry[] | null {
  const [header = ""] = text.split("\n", 1);
  const separator = [",", ";", "\t"].find((candidate) => header.includes(candidate)) ?? ",";
  const format = dsvFormat(separator);
  const columnTitles = (format.parseRows(header)[0] ?? []).map((title) => title.trim().toLowerCase());
  const findColumn = (columnNames: string[]) => columnNames.map((candidate) => columnTitles.indexOf(candidate)).find((index) => index >= 0) ?? null;
  const [structure, name] = [hasMolecules ? findColumn(STRUCTURE_COLUMNS) : null, findColumn(NAME_COLUMNS)];
  const column = structure ?? name;
  if (column === null) return null;
  return format
    .parseRows(text)
    .slice(1)
    .filter((row) => row.some((cell) => cell.trim() !== ""))
    .map((row) => {
      const text = row[column]?.trim() ?? "";
      const label = structure === null || name === null ? null : row[name]?.trim() || null;
      return { text, label, identifiers: structure === null ? [{ name: text }] : [structureIdentifier(text)] };
    });
}

function parseLines(text: string, hasMolecules: boolean): Entry[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      if (!hasMolecules) return { text: line, label: null, identifiers: [{ name: line }] };
      const [, structure = line, rest = ""] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
      return { text: line, label: rest || null, identifiers: [structureIdentifier(structure), { name: line }] };
    });
}

function structureIdentifier(structure: string): Identifier {
  return structure.startsWith("InChI=") ? { inchi: structure } : { smiles: structure };
}
