/** File names that the file dialog offers. */
export const ACCEPTED_FILES = [".csv", ".tsv", ".smi", ".smiles", ".cxsmiles", ".txt", ".sdf", ".sd", ".xlsx", ".parquet", ".gz", ".bz2", ".xz", ".zst"].join(",");

const SAMPLE_BYTES = 256 * 1024; // Bytes of a text file that a preview needs.
const TEXT_FILE = /\.(smi|smiles|cxsmiles|txt|csv|tsv|sdf|sd)$/i;

/** The beginning of a file, which a preview needs, and whether the file goes on. */
interface Beginning {
  file: File;
  isPartial: boolean;
}

/** Return the beginning of a text file as a file of its own. A file of another format is returned whole. */
export function beginningOf(file: File): Beginning {
  if (file.size <= SAMPLE_BYTES || !isTextFile(file)) return { file, isPartial: false };
  return { file: new File([file.slice(0, SAMPLE_BYTES)], file.name), isPartial: true };
}

/** Return a pasted text as a file whose name states its format: an SD file, a table with a header, or lines of SMILES. */
export function pastedFile(text: string): File {
  const [header = ""] = text.trimStart().split("\n", 1);
  const isTable = /[,;\t]/.test(header) && /smiles|structure/i.test(header);
  const ending = text.includes("M  END") ? "sdf" : isTable ? "csv" : "smi";
  return new File([text.trimEnd() + "\n"], `pasted.${ending}`);
}

/** Return whether a file holds text that the page can read itself. */
export function isTextFile(file: File): boolean {
  return TEXT_FILE.test(file.name);
}

const MAX_NAME_LENGTH = 63;
const COLLECTION_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** Return a name for the collection of a file: its name without endings, in the characters that names may have. */
export function collectionNameOf(fileName: string): string {
  const [stem = ""] = fileName.toLowerCase().split(/\.(?=[a-z])/, 1);
  return stem.normalize("NFKD").replace(/[^a-z0-9._-]+/g, "-").replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "").slice(0, MAX_NAME_LENGTH) || "molecules";
}

/** Return what is wrong with the name of a new collection, or null if it can be used. */
export function nameProblem(name: string, takenNames: string[]): string | null {
  if (takenNames.includes(name)) return `There is a collection ${name} already. Choose another name, or add the file to it.`;
  if (COLLECTION_NAME.test(name)) return null;
  return "A name has 1 to 63 lower-case letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.";
}

/** Format a number of bytes for people. */
export function formatBytes(bytes: number): string {
  if (bytes < 1e3) return `${bytes} bytes`;
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: bytes < 1e8 ? 1 : 0 })} MB`;
}
