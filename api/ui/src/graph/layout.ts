import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationNodeDatum } from "d3-force";
import { type Edges, MOST_EDGES } from "./neighbourhood";

export interface Point {
  x: number;
  y: number;
}

const STEPS = 200;
const STEPS_AGAIN = 80; // where most are in place already
const SLICE = 12; // ms of work between two looks at the rest of the page
const NEAREST = 110; // between centres, of the most similar
const FARTHEST = 360;
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
  const links = Array.from(edges.similarity.subarray(0, MOST_EDGES), (similarity, edge) => ({
    source: edges.source[edge]!,
    target: edges.target[edge]!,
    similarity,
  }));
  for (const { source, target } of links) beside(data, source, target);
  Object.assign(data[0] ?? {}, { fx: 0, fy: 0 });
  const distance = (link: { similarity: number }) => NEAREST + (FARTHEST - NEAREST) * (1 - link.similarity);
  const steps = again ? STEPS_AGAIN : STEPS;
  const simulation = forceSimulation(data)
    .force("link", forceLink(links).distance(distance))
    .force("apart", forceManyBody().strength(-260).distanceMax(1200))
    .force("clear", forceCollide((_, place) => (place === 0 ? RADIUS_OF_QUERY : RADIUS)))
    .force("x", forceX(0).strength(0.03))
    .force("y", forceY(0).strength(0.05))
    .alpha(again ? 0.3 : 1)
    .alphaDecay(1 - 0.001 ** (1 / steps))
    .stop();
  let paused = performance.now();
  for (let step = 0; step < steps; step++) {
    simulation.tick();
    if (performance.now() - paused < SLICE) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
    paused = performance.now();
  }
  return data.map(({ x = 0, y = 0 }) => ({ x, y }));
}

/** Who is new begins near its most similar neighbour, at an angle of its own. */
function beside(data: SimulationNodeDatum[], source: number, target: number): void {
  const [one, other] = [data[source]!, data[target]!];
  const [fresh, settled, place] = one.x === undefined ? [one, other, source] : [other, one, target];
  if (fresh.x !== undefined || settled.x === undefined || settled.y === undefined) return;
  fresh.x = settled.x + 60 * Math.cos(place * 2.4);
  fresh.y = settled.y + 60 * Math.sin(place * 2.4);
}
