import type { Client } from "../api/client";
import type { Item, Kind } from "../api/replies";
import { type Reading, read } from "../find/reading";
import { exactly } from "../look/item";
import type { ComparedItem } from "../look/item";
import { layout, type Point } from "./layout";
import { around, type Neighbourhood } from "./neighbourhood";

/** What the address asks the graph to show; items as `exactly` says them. */
export interface Wanted {
  client: Client;
  kind: Kind;
  subject: Reading;
  /** Only these, the subject first; null is what lies around it. */
  among: Item[] | null;
  /** The stored τ. */
  lowest: number;
  expanded: string[];
  /** A path from there, or from the query. */
  from: string | null;
  to: string | null;
  /** What every step of the path must reach. */
  least: number;
}

/** A path between two items; no steps where there is none. Each is as similar as said to the one before. */
export interface Route {
  from: Item;
  to: Item;
  steps: ComparedItem[];
}

/** A neighbourhood, where its nodes are, and a path through it. */
export interface Scene extends Neighbourhood {
  points: Point[];
  route: Route | null;
}

/** What was shown before keeps its place. */
export async function scene(wanted: Wanted, before: Scene | null, signal: AbortSignal): Promise<Scene> {
  const { client, kind, subject, among, lowest } = wanted;
  const finding = new Map(before?.nodes.map(({ item }) => [item && exactly(item), Promise.resolve(item)]));
  const find = (text: string): Promise<Item | null> => {
    const item = finding.get(text) ?? read(client, kind, text, signal).then(({ found }) => found[0]?.item ?? null);
    finding.set(text, item);
    return item;
  };
  const expanded = await Promise.all(wanted.expanded.map(find));
  const from = wanted.from === null ? subject.item : await find(wanted.from);
  const to = wanted.to === null ? null : await find(wanted.to);
  const route = from && to && (await path(client, from, to, wanted.least, signal));
  const others = [from, to, ...(route?.steps.map(({ item }) => item) ?? [])];
  const found = await around({ client, subject, among, lowest, expanded: present(expanded), others: present(others) }, signal);
  return { ...found, route, points: await placed(found, before, signal) };
}

async function path(client: Client, from: Item, to: Item, least: number, signal: AbortSignal): Promise<Route> {
  const found = (await client.path(from.id, to.id, least, signal)) ?? [];
  const steps = found.map(async ({ id, similarity }) => ({ item: await client.item(id, signal), similarity }));
  return { from, to, steps: await Promise.all(steps) };
}

async function placed({ nodes, edges }: Neighbourhood, before: Scene | null, signal: AbortSignal): Promise<Point[]> {
  const points = new Map(before?.nodes.map(({ item }, place) => [item?.id, before.points[place]]));
  const known = nodes.map(({ item }) => points.get(item?.id));
  if (known.every((point) => point !== undefined)) return known;
  return layout(nodes.length, edges, known, signal);
}

function present(items: (Item | null)[]): Item[] {
  return items.filter((item) => item !== null);
}
