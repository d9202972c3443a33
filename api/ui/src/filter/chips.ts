import type { Address } from "../address";
import { decodeIds } from "../lists/idEncoding";
import type { ItemProperties } from "../results/columns";
import type { FilterAddress } from "../results/results";
import type { Condition } from "./conditions";

/** A filter of the address in words. */
export interface Chip {
  label: string;
  /** Change of the address that removes the filter. */
  removal: Partial<Address>;
}

/** Return the filters of an address: its conditions on properties, then the name, the substructure, the scaffold and the list. */
export function chipsOf({ filters, name, substructure, scaffold, onlyIds, listName }: FilterAddress, properties: ItemProperties): Chip[] {
  const conditions = filters.map((condition, position) => ({
    label: describe(condition, properties[condition.property]?.title ?? condition.property),
    removal: { filters: filters.filter((_, index) => index !== position) },
  }));
  const pattern = substructure && ("smarts" in substructure ? substructure.smarts : substructure.smiles);
  return [
    ...conditions,
    ...(name === null ? [] : [{ label: `Name begins with “${name}”`, removal: { name: null } }]),
    ...(pattern === null ? [] : [{ label: `Contains ${pattern}`, removal: { substructure: null } }]),
    ...(scaffold === null ? [] : [{ label: scaffold ? `Scaffold ${scaffold}` : "No rings", removal: { scaffold: null } }]),
    ...(onlyIds === null ? [] : [{ label: listLabel(onlyIds, listName), removal: { onlyIds: null, listName: null } }]),
  ];
}

/** Return the label of the filter by a list. */
export function listLabel(onlyIds: string, listName: string | null): string {
  const count = decodeIds(onlyIds)?.length ?? 0;
  return `${listName === null ? "Items of a link" : `List “${listName}”`} (${count.toLocaleString("en")})`;
}

function describe({ min, max, contains }: Condition, title: string): string {
  const format = (value: number) => value.toLocaleString("en", { maximumSignificantDigits: 12 });
  if (contains !== null) return `${title} contains “${contains}”`;
  if (min !== null && max !== null) return `${title} ${format(min)} to ${format(max)}`;
  return min !== null ? `${title} ≥ ${format(min)}` : `${title} ≤ ${format(max ?? 0)}`;
}
