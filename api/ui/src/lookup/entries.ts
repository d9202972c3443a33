import { dsvFormat } from "d3-dsv";

/** One thing of a list: a structure or a name, as it was given, and what it was called beside. */
export interface Entry {
  given: string;
  called: string | null;
  /** What it may be, likeliest first. */
  ways: Way[];
}

/** As the API takes a structure, or the name of an item. */
export type Way = { smiles: string } | { inchi: string } | { molblock: string } | { name: string };

const END = "M  END";
const STRUCTURES = ["smiles", "canonical_smiles", "isomeric_smiles", "structure", "inchi"];
const NAMES = ["name", "names", "title", "compound", "id"];

/** What a pasted text or a file holds: an SD file, a table with a header, or a structure or name a line. */
export function entries(text: string, molecules: boolean): Entry[] {
  if (molecules && text.includes(END)) return records(text);
  return table(text, molecules) ?? lines(text, molecules);
}

function records(text: string): Entry[] {
  const parts = text.replaceAll("\r", "").split(/^\$\$\$\$.*\n?/m);
  return parts.filter((part) => part.trim() !== "").map((part, place) => {
    const [title = ""] = part.split("\n", 1);
    const end = part.indexOf(END);
    const molblock = end < 0 ? part : `${part.slice(0, end + END.length)}\n`;
    return { given: title.trim() || `record ${place + 1}`, called: null, ways: [{ molblock }] };
  });
}

/** Null where there is no header that says which column it is. */
function table(text: string, molecules: boolean): Entry[] | null {
  const [header = ""] = text.split("\n", 1);
  const separator = [",", ";", "\t"].find((each) => header.includes(each)) ?? ",";
  const format = dsvFormat(separator);
  const titles = (format.parseRows(header)[0] ?? []).map((title) => title.trim().toLowerCase());
  const of = (wanted: string[]) => wanted.map((each) => titles.indexOf(each)).find((place) => place >= 0) ?? null;
  const [structure, name] = [molecules ? of(STRUCTURES) : null, of(NAMES)];
  const column = structure ?? name;
  if (column === null) return null;
  return format
    .parseRows(text)
    .slice(1)
    .filter((row) => row.some((cell) => cell.trim() !== ""))
    .map((row) => {
      const given = row[column]?.trim() ?? "";
      const called = structure === null || name === null ? null : row[name]?.trim() || null;
      return { given, called, ways: structure === null ? [{ name: given }] : [written(given)] };
    });
}

function lines(text: string, molecules: boolean): Entry[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      if (!molecules) return { given: line, called: null, ways: [{ name: line }] };
      const [, structure = line, rest = ""] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
      return { given: line, called: rest || null, ways: [written(structure), { name: line }] };
    });
}

function written(structure: string): Way {
  return structure.startsWith("InChI=") ? { inchi: structure } : { smiles: structure };
}
