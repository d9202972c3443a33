import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationNodeDatum } from "d3-force";
import { type Edges, MAX_EDGES } from "./neighborhood";

/** A position in the unit of the layout, in which the query is at the origin. */
export interface Point {
  x: number;
  y: number;
}

const STEPS = 200;
const INCREMENTAL_STEPS = 80; // steps if some nodes are placed already
const COLLISION_START = 0.7; // fraction of the steps after which nodes no longer pass through each other
// Only the most similar edges of a node pull it: all of them would pull everything into one heap.
const MAX_LINKS_PER_NODE = 5;
const TIME_SLICE = 12; // milliseconds of work before the page may respond to events
const MIN_LINK_LENGTH = 110; // pixels between the centers of nodes with similarity 1
const MAX_LINK_LENGTH = 200;
const NODE_RADIUS = 48; // pixels around a node that other nodes avoid
const QUERY_RADIUS = 66;

/**
 * Place nodes by a force simulation: similar nodes together, the query in the middle. Nodes with a known point stay
 * close to it.
 */
export async function layout(
  nodeCount: number,
  edges: Edges,
  knownPoints: (Point | undefined)[],
  signal: AbortSignal,
): Promise<Point[]> {
  const isIncremental = knownPoints.some((point) => point !== undefined);
  const data: SimulationNodeDatum[] = Array.from({ length: nodeCount }, (_, index) => ({ ...knownPoints[index] }));
  const links = strongestLinks(nodeCount, edges);
  for (const { source, target } of links) placeNearNeighbor(data, source, target);
  Object.assign(data[0] ?? {}, { fx: 0, fy: 0 });
  const distance = (link: { similarity: number }) => MIN_LINK_LENGTH + (MAX_LINK_LENGTH - MIN_LINK_LENGTH) * (1 - link.similarity);
  const steps = isIncremental ? INCREMENTAL_STEPS : STEPS;
  const collision = forceCollide((_, index) => (index === 0 ? QUERY_RADIUS : NODE_RADIUS));
  const simulation = forceSimulation(data)
    .force("link", forceLink(links).distance(distance))
    .force("apart", forceManyBody().strength(-250).distanceMax(5000))
    .force("clear", isIncremental ? collision : null)
    .force("x", forceX(0).strength(0.01))
    .force("y", forceY(0).strength(0.02))
    .alpha(isIncremental ? 0.3 : 1)
    .alphaDecay(1 - 0.001 ** (1 / steps))
    .stop();
  let sliceStart = performance.now();
  for (let step = 0; step < steps; step++) {
    if (step === COLLISION_START * steps) simulation.force("clear", collision);
    simulation.tick();
    if (performance.now() - sliceStart < TIME_SLICE) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
    sliceStart = performance.now();
  }
  return data.map(({ x = 0, y = 0 }) => ({ x, y }));
}

/** Return the edges that pull nodes: for each node the few most similar ones. */
function strongestLinks(nodeCount: number, { source, target, similarity }: Edges): { source: number; target: number; similarity: number }[] {
  const linkCounts = new Uint8Array(nodeCount);
  const strongest = [];
  for (let edge = 0; edge < Math.min(similarity.length, MAX_EDGES); edge++) {
    const [a, b] = [source[edge]!, target[edge]!];
    if (linkCounts[a]! >= MAX_LINKS_PER_NODE && linkCounts[b]! >= MAX_LINKS_PER_NODE) continue;
    if (linkCounts[a]! < MAX_LINKS_PER_NODE) linkCounts[a]!++;
    if (linkCounts[b]! < MAX_LINKS_PER_NODE) linkCounts[b]!++;
    strongest.push({ source: a, target: b, similarity: similarity[edge]! });
  }
  return strongest;
}

/** Start a new node near its most similar neighbor, at an angle that depends on its index. */
function placeNearNeighbor(data: SimulationNodeDatum[], source: number, target: number): void {
  const [a, b] = [data[source]!, data[target]!];
  const [newNode, knownNode, index] = a.x === undefined ? [a, b, source] : [b, a, target];
  if (newNode.x !== undefined || knownNode.x === undefined || knownNode.y === undefined) return;
  newNode.x = knownNode.x + 60 * Math.cos(index * 2.4);
  newNode.y = knownNode.y + 60 * Math.sin(index * 2.4);
}
