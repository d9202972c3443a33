import type { Client } from "../api/client";
import type { Item, Kind } from "../api/replies";
import { type Interpretation, interpret } from "../find/interpretation";
import { exactAddressOf } from "../results/item";
import type { ComparedItem } from "../results/item";
import { layout, type Point } from "./layout";
import { loadNeighborhood, type Neighborhood } from "./neighborhood";

/** State of the graph, as the address describes it. Items are given as `exactAddressOf` writes them. */
export interface SceneRequest {
  client: Client;
  kind: Kind;
  subject: Interpretation;
  /** Items to show, the subject first; null shows the neighborhood of the subject. */
  itemSubset: Item[] | null;
  /** Stored threshold. */
  minThreshold: number;
  expandedItems: string[];
  /** Start of a path; null starts at the query. */
  from: string | null;
  to: string | null;
  /** Least similarity of each step of the path. */
  minSimilarity: number;
}

/** A path between two items, without steps if there is none. Each step holds its similarity to the previous one. */
export interface Route {
  from: Item;
  to: Item;
  steps: ComparedItem[];
}

/** A neighborhood with the positions of its nodes, and a path through it. */
export interface Scene extends Neighborhood {
  points: Point[];
  route: Route | null;
}

/** Load a scene. Nodes of the previous scene stay where they are. */
export async function loadScene(request: SceneRequest, previous: Scene | null, signal: AbortSignal): Promise<Scene> {
  const { client, kind, subject, itemSubset, minThreshold } = request;
  const itemPromises = new Map(previous?.nodes.map(({ item }) => [item && exactAddressOf(item), Promise.resolve(item)]));
  const findItem = (text: string): Promise<Item | null> => {
    const item = itemPromises.get(text) ?? interpret(client, kind, text, signal).then(({ candidates }) => candidates[0]?.item ?? null);
    itemPromises.set(text, item);
    return item;
  };
  const expandedItems = await Promise.all(request.expandedItems.map(findItem));
  const from = request.from === null ? subject.item : await findItem(request.from);
  const to = request.to === null ? null : await findItem(request.to);
  const route = from && to && (await loadRoute(client, from, to, request.minSimilarity, signal));
  const additionalItems = [from, to, ...(route?.steps.map(({ item }) => item) ?? [])];
  const neighborhood = await loadNeighborhood({ client, subject, itemSubset, minThreshold, expandedItems: withoutNulls(expandedItems), additionalItems: withoutNulls(additionalItems) }, signal);
  return { ...neighborhood, route, points: await placeNodes(neighborhood, previous, signal) };
}

async function loadRoute(client: Client, from: Item, to: Item, minSimilarity: number, signal: AbortSignal): Promise<Route> {
  const pathSteps = (await client.path(from.id, to.id, minSimilarity, signal)) ?? [];
  const steps = pathSteps.map(async ({ id, similarity }) => ({ item: await client.item(id, signal), similarity }));
  return { from, to, steps: await Promise.all(steps) };
}

async function placeNodes({ nodes, edges }: Neighborhood, previous: Scene | null, signal: AbortSignal): Promise<Point[]> {
  const points = new Map(previous?.nodes.map(({ item }, index) => [item?.id, previous.points[index]]));
  const knownPoints = nodes.map(({ item }) => points.get(item?.id));
  if (knownPoints.every((point) => point !== undefined)) return knownPoints;
  return layout(nodes.length, edges, knownPoints, signal);
}

function withoutNulls(items: (Item | null)[]): Item[] {
  return items.filter((item) => item !== null);
}
