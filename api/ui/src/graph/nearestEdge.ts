import type { Point } from "./layout";
import type { Edges } from "./neighborhood";

/** Return the nearest of the first edges to a point; null if it is not closer than `maxDistance`. */
export function nearestEdge({ source, target }: Edges, edgeCount: number, points: Point[], pointer: Point, maxDistance: number): number | null {
  let [nearest, minSquared] = [-1, maxDistance * maxDistance];
  for (let edge = 0; edge < edgeCount; edge++) {
    const [a, b] = [points[source[edge]!]!, points[target[edge]!]!];
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const projection = ((pointer.x - a.x) * dx + (pointer.y - a.y) * dy) / (dx * dx + dy * dy || 1);
    const fraction = Math.min(Math.max(projection, 0), 1);
    const squaredDistance = (a.x + fraction * dx - pointer.x) ** 2 + (a.y + fraction * dy - pointer.y) ** 2;
    if (squaredDistance < minSquared) [nearest, minSquared] = [edge, squaredDistance];
  }
  return nearest < 0 ? null : nearest;
}
