import type { Field } from "../api/jobs";
import type { Preview } from "../api/replies";
import { collectionNameOf } from "./files";
import { type Recipe, RECIPES } from "./recipes";

/** How a file is read. Null stands for what the server detects. */
export interface ReadSettings {
  smiles_column: string | null;
  name_column: string | null;
  delimiter: string | null;
  encoding: string | null;
  decimal: string | null;
}

/** Units that a user can set for a column, with a title for people. */
export const UNITS = { none: "no unit", pM: "pM", nM: "nM", uM: "µM", mM: "mM" } as const;
type ColumnUnit = keyof typeof UNITS;

/** What happens to the values of a compound that occurs in several records. */
export const DUPLICATES = {
  first: "Keep the first value",
  mean: "Average numbers",
  median: "Take the median of numbers",
  list: "Keep all values in a second column",
  reject: "Reject compounds whose values differ",
} as const;

const DETECTED: ReadSettings = { smiles_column: null, name_column: null, delimiter: null, encoding: null, decimal: null };

/**
 * A file that the user is about to upload, and the settings. It is too large for the address, so it lives as long as
 * the page.
 */
class UploadDraft {
  file = $state.raw<File | null>(null);
  /** Name of the new collection. */
  name = $state("");
  /** Whether the file is added to the open collection instead of becoming a new one. */
  isAppend = $state(false);
  read: ReadSettings = $state({ ...DETECTED });
  /** Columns that do not become properties. */
  droppedColumns: string[] = $state([]);
  /** Units that the user has set, by the title of the column. */
  units: Record<string, ColumnUnit> = $state({});
  recipe: Recipe = $state({ ...RECIPES.mixed.recipe });
  duplicates: keyof typeof DUPLICATES = $state("first");
  /** Largest share of rejected records, in percent. */
  maxRejected = $state(10);

  /** Choose a file, which resets all settings that belong to the previous one. */
  choose(file: File): void {
    this.file = file;
    this.name = collectionNameOf(file.name);
    this.read = { ...DETECTED };
    this.droppedColumns = [];
    this.units = {};
  }

  /** Forget the file. */
  clear(): void {
    this.file = null;
    this.isAppend = false;
  }

  /** Return the fields of a preview: what the user decided about reading the file. */
  readFields(): Field[] {
    return [...fieldsOf({ ...this.read }), ...unitFields(Object.entries(this.units))];
  }

  /** Return the fields of an upload. The file is read as in the preview. */
  uploadFields(preview: Preview): Field[] {
    const { format, delimiter, encoding, decimal, smiles_column, name_column } = preview;
    const common = [
      ...fieldsOf({ format, delimiter, encoding, decimal, smiles_column, name_column }),
      ...this.propertyFields(preview),
      ...unitFields(this.keptColumns(preview).flatMap((name): [string, ColumnUnit][] => (this.units[name] ? [[name, this.units[name]]] : []))),
      ...fieldsOf({ max_rejected: this.maxRejected / 100 }),
    ];
    if (this.isAppend) return common;
    const { standardize, ...recipe } = this.recipe;
    const steps = standardize.map((step): Field => ["standardize", step]);
    return [...fieldsOf({ name: this.name, duplicates: this.duplicates, ...recipe }), ...steps, ...common];
  }

  /** Return a field for each column to keep, one empty field to keep none, and no field to keep all. */
  private propertyFields(preview: Preview): Field[] {
    const kept = this.keptColumns(preview);
    if (kept.length === preview.columns.filter(isProperty).length) return [];
    return (kept.length ? kept : [""]).map((title): Field => ["properties", title]);
  }

  /** Return the titles of the columns that become properties. */
  private keptColumns({ columns }: Preview): string[] {
    return columns.filter(isProperty).map(({ name }) => name).filter((title) => !this.droppedColumns.includes(title));
  }
}

function isProperty({ role }: Preview["columns"][number]): boolean {
  return role === "property";
}

function unitFields(units: [column: string, unit: ColumnUnit][]): Field[] {
  return units.map(([column, unit]) => ["unit", `${column}=${unit}`]);
}

/** Return the fields that have a value. */
function fieldsOf(values: Record<string, string | number | null>): Field[] {
  return Object.entries(values).flatMap(([name, value]): Field[] => (value === null ? [] : [[name, String(value)]]));
}

/** The upload that this page prepares. */
export const draft = new UploadDraft();
