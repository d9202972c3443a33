import { type Address, type Part, DEFAULT_ADDRESS } from "../address";

/** A part of the page that a sub-tab opens. */
export interface SubTab {
  title: string;
  part: Part;
  /** Whether it shows the changes since the generation before, if there is one. */
  showsChanges?: boolean;
}

/** A tab of the bar below the header. A tab with sub-tabs opens the first one. */
export interface Tab extends SubTab {
  /** Whether only collections of molecules have it. */
  needsMolecules?: boolean;
  subTabs?: readonly SubTab[];
}

/** The tabs in groups: ways to explore a collection, then everything else. A new part adds a row. */
export const TAB_GROUPS: readonly (readonly Tab[])[] = [
  [
    { title: "Table", part: "items" },
    { title: "Plot", part: "plot" },
    { title: "Map", part: "map" },
    {
      title: "Clusters",
      part: "clusters",
      subTabs: [
        { title: "List", part: "clusters" },
        { title: "Tree", part: "tree" },
        { title: "Changes", part: "clusters", showsChanges: true },
      ],
    },
    { title: "Cliffs", part: "cliffs" },
    {
      title: "SAR",
      part: "rgroups",
      needsMolecules: true,
      subTabs: [
        { title: "R groups", part: "rgroups" },
        { title: "Matched pairs", part: "pairs" },
        { title: "Scaffolds", part: "scaffolds" },
      ],
    },
    { title: "Compare", part: "compare" },
  ],
  [
    { title: "Look up", part: "list" },
    { title: "Selection", part: "basket" },
    { title: "About", part: "collection" },
  ],
];

/**
 * How a part applies the filters of the address: `form` has a form for them, `chips` relies on the filter bar, and
 * `none` applies no filters.
 */
type FilterSupport = "form" | "chips" | "none";

const FILTER_SUPPORT: Partial<Record<Part, FilterSupport>> = {
  items: "form",
  plot: "chips",
  basket: "form",
  cliffs: "form",
  rgroups: "form",
  scaffolds: "form",
  clusters: "chips",
  tree: "none",
  compare: "none",
  pairs: "chips",
  map: "chips",
};

type FilteredView = Pick<Address, "q" | "part" | "cluster" | "view" | "earlierGeneration">;

/** Return how the view of an address applies its filters; null for a view without items, such as About. */
export function filterSupport({ q, part, cluster, view, earlierGeneration }: FilteredView): FilterSupport | null {
  if (q !== null) return view === "positives" || view === "pairs" ? "none" : "form";
  if (part === "clusters" && cluster !== null) return "form";
  if (part === "clusters" && earlierGeneration !== null) return "none";
  if (part === "tree" && cluster !== null) return "chips";
  return FILTER_SUPPORT[part] ?? null;
}

const TABS = TAB_GROUPS.flat();

/** Return the tab that an address belongs to; null on the start page and around a query. */
export function tabOf({ q, part }: Pick<Address, "q" | "part">): Tab | null {
  if (q !== null) return null;
  return TABS.find((tab) => [tab, ...(tab.subTabs ?? [])].some((entry) => entry.part === part)) ?? null;
}

/** Return the sub-tab of a tab that an address belongs to; null if the tab has none. */
export function subTabOf(tab: Tab, { part, earlierGeneration }: Pick<Address, "part" | "earlierGeneration">): SubTab | null {
  const showsChanges = part === "clusters" && earlierGeneration !== null;
  return tab.subTabs?.find((entry) => entry.part === part && (entry.showsChanges ?? false) === showsChanges) ?? null;
}

/**
 * Return the change of the address that opens a tab. Filters stay, because all parts share them, except that a list
 * gives way to the user's own lists.
 *
 * @param earlierGeneration - the generation before the displayed one; null if there is none.
 */
export function changeTo({ part, showsChanges = false }: SubTab, earlierGeneration: string | null): Partial<Address> {
  const { q, cluster, transformation, sort, minSimilarity } = DEFAULT_ADDRESS;
  const ownLists = part === "basket" ? { onlyIds: null, listName: null } : {};
  return { ...ownLists, q, part, cluster, transformation, sort, minSimilarity, earlierGeneration: showsChanges ? earlierGeneration : null };
}

/** Return the title of a part for the browser's tab; null for the start page. */
export function titleOf(address: Pick<Address, "q" | "part" | "earlierGeneration">): string | null {
  const tab = tabOf(address);
  if (address.q === null && address.part === "upload") return "Upload";
  if (tab === null) return null;
  const subTab = subTabOf(tab, address);
  return subTab === null ? tab.title : `${subTab.title} · ${tab.title}`;
}
