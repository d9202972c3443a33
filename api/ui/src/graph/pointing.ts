import type { Point } from "./layout";
import type { Edges } from "./neighbourhood";

/** The nearest of the first so many edges to a place, if it is as near as that. */
export function edgeAt({ source, target }: Edges, held: number, points: Point[], at: Point, within: number): number | null {
  let [found, least] = [-1, within * within];
  for (let edge = 0; edge < held; edge++) {
    const [a, b] = [points[source[edge]!]!, points[target[edge]!]!];
    const [across, down] = [b.x - a.x, b.y - a.y];
    const along = ((at.x - a.x) * across + (at.y - a.y) * down) / (across * across + down * down || 1);
    const part = Math.min(Math.max(along, 0), 1);
    const squared = (a.x + part * across - at.x) ** 2 + (a.y + part * down - at.y) ** 2;
    if (squared < least) [found, least] = [edge, squared];
  }
  return found < 0 ? null : found;
}
