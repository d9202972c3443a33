import type { Address } from "../address";
import type { ItemProperties } from "../results/columns";
import type { Condition } from "./conditions";

/** A filter of the address in words. */
export interface Chip {
  label: string;
  /** Whether it is a condition on a property. */
  isCondition: boolean;
  /** Change of the address that removes the filter. */
  removal: Partial<Address>;
}

/** Filters of an address that clear all of them. */
export const NO_FILTERS = { filters: [], name: null, substructure: null, scaffold: null } satisfies Partial<Address>;

type Filters = Pick<Address, keyof typeof NO_FILTERS>;

/** Return the filters of an address: its conditions on properties, then the name, the substructure and the scaffold. */
export function chipsOf({ filters, name, substructure, scaffold }: Filters, properties: ItemProperties): Chip[] {
  const conditions = filters.map((condition, position) => ({
    label: describe(condition, properties[condition.property]?.title ?? condition.property),
    isCondition: true,
    removal: { filters: filters.filter((_, index) => index !== position) },
  }));
  const pattern = substructure && ("smarts" in substructure ? substructure.smarts : substructure.smiles);
  return [
    ...conditions,
    ...(name === null ? [] : [{ label: `Name begins with “${name}”`, isCondition: false, removal: { name: null } }]),
    ...(pattern === null ? [] : [{ label: `Contains ${pattern}`, isCondition: false, removal: { substructure: null } }]),
    ...(scaffold === null ? [] : [{ label: scaffold ? `Scaffold ${scaffold}` : "No rings", isCondition: false, removal: { scaffold: null } }]),
  ];
}

function describe({ min, max, contains }: Condition, title: string): string {
  const format = (value: number) => value.toLocaleString("en", { maximumSignificantDigits: 12 });
  if (contains !== null) return `${title} contains “${contains}”`;
  if (min !== null && max !== null) return `${title} ${format(min)} to ${format(max)}`;
  return min !== null ? `${title} ≥ ${format(min)}` : `${title} ≤ ${format(max ?? 0)}`;
}
