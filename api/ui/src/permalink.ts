import { type Address, CHOICES } from "./address";
import { parseCondition } from "./filter/conditions";
import { parseLasso } from "./map/lasso";
import { parseGroupCondition } from "./rgroups/groupConditions";
import { decodeIds } from "./lists/idEncoding";
import { type ItemProperties, numericKeys } from "./results/columns";

const FILTER_SYNTAX = '["PROPERTY",MIN,MAX] or ["PROPERTY","TEXT"]';
const GROUP_SYNTAX = '["POSITION","SMILES"]';

/**
 * Return a sentence for each parameter of an address that the page cannot read. The page ignores these parameters.
 */
export function unreadableParameters(search: string, fragment = ""): string[] {
  const list = new URLSearchParams(fragment.replace(/^#/, "")).get("basket");
  const parameters = new URLSearchParams(search);
  const choiceSentences = Object.entries(CHOICES).flatMap(([name, choices]) => {
    const text = parameters.get(name);
    return !text || choices.includes(text) ? [] : [`Unknown ${name} “${text}”. Accepted values: ${choices.join(", ")}.`];
  });
  const unreadableFilters = parameters.getAll("filter").filter((text) => parseCondition(text).length === 0);
  const unreadableGroups = parameters.getAll("group").filter((text) => parseGroupCondition(text).length === 0);
  return [
    ...choiceSentences,
    ...unreadableFilters.map((text) => `The filter “${text}” is not valid and was ignored. Accepted form: ${FILTER_SYNTAX}.`),
    ...unreadableGroups.map((text) => `The group “${text}” is not valid and was ignored. Accepted form: ${GROUP_SYNTAX}.`),
    ...lassoSentences(parameters.get("lasso")),
    ...similaritySentences(parameters.get("min_similarity")),
    ...(list !== null && decodeIds(list) === null ? ["The list of this link is not valid. Copy the whole link."] : []),
  ];
}

function lassoSentences(text: string | null): string[] {
  return !text || parseLasso(text) ? [] : ["The lasso is not valid and was ignored. Accepted form: X,Y;X,Y;X,Y with at least three points."];
}

function similaritySentences(text: string | null): string[] {
  if (!text || (Number(text) > 0 && Number(text) <= 1)) return [];
  return [`The min_similarity “${text}” is not valid. Accepted values: numbers above 0 and up to 1.`];
}

/**
 * Return a sentence for each property that an address refers to and that the collection lacks. Only properties that
 * the displayed part uses count.
 */
export function inapplicableProperties(address: Address, properties: ItemProperties): string[] {
  const numericProperties = numericKeys(properties);
  const numericSentence = numericProperties.length ? `Its numeric properties: ${numericProperties.join(", ")}.` : "It has no numeric properties.";
  const { q, part, view, property, color, x, y } = address;
  const isPlot = q === null && part === "plot";
  const usesProperty = q === null ? ["cliffs", "clusters", "rgroups", "scaffolds", "pairs"].includes(part) : view === "pairs";
  const comparedProperty = usesProperty ? [property] : [];
  const axisProperties = isPlot ? [x, y] : [];
  const isColored = q !== null || view === "graph" || ["map", "plot", "items", "basket", "clusters"].includes(part);
  const colorProperty = isColored ? [color] : [];
  const unknownFilters = address.filters.filter((condition) => !Object.hasOwn(properties, condition.property));
  const unknownSentences = unknownFilters.map((condition) => `This collection has no property “${condition.property}” to filter by.`);
  const nonNumericSentences = [...comparedProperty, ...colorProperty, ...axisProperties]
    .filter((name) => name !== null && !numericProperties.includes(name))
    .map((name) => `This collection has no numeric property “${name}”. ${numericSentence}`);
  return [...unknownSentences, ...nonNumericSentences];
}
