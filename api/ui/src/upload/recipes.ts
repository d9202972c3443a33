/** Settings of a recipe, by the names of the request's fields. */
export interface Recipe {
  fingerprint: Fingerprint;
  threshold: number;
  /** Number of most similar neighbors that each item keeps; 0 keeps all. */
  top_k: number;
  standardize: Standardization[];
}

/** Fingerprints, with a name for people. */
export const FINGERPRINTS = {
  morgan: "Morgan (circular, radius 2)",
  rdkit: "RDKit (paths)",
  atompair: "Atom pairs",
  torsion: "Topological torsions",
  maccs: "MACCS keys",
} as const;
export type Fingerprint = keyof typeof FINGERPRINTS;

/** Steps that standardize structures, with a sentence for people. */
export const STANDARDIZATIONS = {
  largest_fragment: "Keep the largest fragment, without salts and solvents",
  uncharge: "Neutralize charges",
  tautomer: "Use one tautomer for all (slow)",
} as const;
export type Standardization = keyof typeof STANDARDIZATIONS;

/** A recipe in the words of a chemist. */
interface RecipeChoice {
  title: string;
  explanation: string;
  recipe: Recipe;
}

const MORGAN = { fingerprint: "morgan", standardize: [] as Standardization[] } as const;

/** The three choices of a new collection. */
export const RECIPES = {
  mixed: {
    title: "A mixed set",
    explanation: "Pairs with similarity 0.4 or more, the 70 most similar of each compound. Suits most files.",
    recipe: { ...MORGAN, threshold: 0.4, top_k: 70 },
  },
  series: {
    title: "A few series",
    explanation: "All pairs with similarity 0.5 or more. For close analogs, activity cliffs and R groups.",
    recipe: { ...MORGAN, threshold: 0.5, top_k: 0 },
  },
  diverse: {
    title: "A diverse library",
    explanation: "Pairs with similarity 0.3 or more, so that compounds without close analogs have neighbors too.",
    recipe: { ...MORGAN, threshold: 0.3, top_k: 70 },
  },
} satisfies Record<string, RecipeChoice>;
export type RecipeName = keyof typeof RECIPES;

/** Return the choice whose recipe equals this one, or null. */
export function recipeNameOf(recipe: Recipe): RecipeName | null {
  const text = JSON.stringify(sorted(recipe));
  return (Object.keys(RECIPES) as RecipeName[]).find((name) => JSON.stringify(sorted(RECIPES[name].recipe)) === text) ?? null;
}

function sorted({ fingerprint, threshold, top_k, standardize }: Recipe): unknown[] {
  return [fingerprint, threshold, top_k, standardize.toSorted()];
}
