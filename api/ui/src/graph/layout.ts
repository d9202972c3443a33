import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationNodeDatum } from "d3-force";
import { type Edges, MOST_EDGES } from "./neighbourhood";

export interface Point {
  x: number;
  y: number;
}

const STEPS = 200;
const STEPS_AGAIN = 80; // where most are in place already
const UNTANGLED = 0.7; // of the steps, before which nodes pass through each other
const BONDS = 5; // edges of an item that pull it, its most similar: all of them would pull everything into one heap
const SLICE = 12; // ms of work between two looks at the rest of the page
const NEAREST = 110; // between centres, of the most similar
const FARTHEST = 200;
const RADIUS = 48; // that a node keeps to itself
const RADIUS_OF_QUERY = 66;

/** Where nodes go: similar ones together, the query in the middle. Those that have a place keep about there. */
export async function layout(
  nodes: number,
  edges: Edges,
  known: (Point | undefined)[],
  signal: AbortSignal,
): Promise<Point[]> {
  const again = known.some((point) => point !== undefined);
  const data: SimulationNodeDatum[] = Array.from({ length: nodes }, (_, place) => ({ ...known[place] }));
  const links = bonds(nodes, edges);
  for (const { source, target } of links) beside(data, source, target);
  Object.assign(data[0] ?? {}, { fx: 0, fy: 0 });
  const distance = (link: { similarity: number }) => NEAREST + (FARTHEST - NEAREST) * (1 - link.similarity);
  const steps = again ? STEPS_AGAIN : STEPS;
  const clear = forceCollide((_, place) => (place === 0 ? RADIUS_OF_QUERY : RADIUS));
  const simulation = forceSimulation(data)
    .force("link", forceLink(links).distance(distance))
    .force("apart", forceManyBody().strength(-250).distanceMax(5000))
    .force("clear", again ? clear : null)
    .force("x", forceX(0).strength(0.01))
    .force("y", forceY(0).strength(0.02))
    .alpha(again ? 0.3 : 1)
    .alphaDecay(1 - 0.001 ** (1 / steps))
    .stop();
  let paused = performance.now();
  for (let step = 0; step < steps; step++) {
    if (step === UNTANGLED * steps) simulation.force("clear", clear);
    simulation.tick();
    if (performance.now() - paused < SLICE) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
    paused = performance.now();
  }
  return data.map(({ x = 0, y = 0 }) => ({ x, y }));
}

/** The edges that pull: the few most similar of either end. */
function bonds(nodes: number, { source, target, similarity }: Edges): { source: number; target: number; similarity: number }[] {
  const bound = new Uint8Array(nodes);
  const found = [];
  for (let edge = 0; edge < Math.min(similarity.length, MOST_EDGES); edge++) {
    const [one, other] = [source[edge]!, target[edge]!];
    if (bound[one]! >= BONDS && bound[other]! >= BONDS) continue;
    if (bound[one]! < BONDS) bound[one]!++;
    if (bound[other]! < BONDS) bound[other]!++;
    found.push({ source: one, target: other, similarity: similarity[edge]! });
  }
  return found;
}

/** Who is new begins near its most similar neighbour, at an angle of its own. */
function beside(data: SimulationNodeDatum[], source: number, target: number): void {
  const [one, other] = [data[source]!, data[target]!];
  const [fresh, settled, place] = one.x === undefined ? [one, other, source] : [other, one, target];
  if (fresh.x !== undefined || settled.x === undefined || settled.y === undefined) return;
  fresh.x = settled.x + 60 * Math.cos(place * 2.4);
  fresh.y = settled.y + 60 * Math.sin(place * 2.4);
}
