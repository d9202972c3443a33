/** The R group that rows of a table must have at one position, for example `*OC` at `R1`. */
export interface GroupCondition {
  label: string;
  smiles: string;
}

/** Format a condition for the address, for example `["R1","*OC"]`. */
export function formatGroupCondition({ label, smiles }: GroupCondition): string {
  return JSON.stringify([label, smiles]);
}

/** Parse a condition of the address. The list is empty if the text is malformed. */
export function parseGroupCondition(text: string): GroupCondition[] {
  try {
    const parts = JSON.parse(text) as unknown;
    if (!Array.isArray(parts) || parts.length !== 2 || !parts.every((part) => typeof part === "string" && part !== "")) return [];
    const [label, smiles] = parts as [string, string];
    return [{ label, smiles }];
  } catch {
    return [];
  }
}
