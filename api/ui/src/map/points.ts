import { byComponent, byNumber, type Colours, type Paper } from "../graph/colour";

/** Where items lie on the map, by id: from 0 to 1, and y downwards. */
export interface Points {
  x: Float32Array;
  y: Float32Array;
  /** Of the property that was asked for; NaN where an item has none. */
  value: Float64Array;
  /** From 1, the largest; 0 where none were asked for. */
  cluster: Int32Array;
}

export interface Place {
  x: number;
  y: number;
}

/** What of the map is seen: its point `left`, `top` is the upper left one, and `scale` pixels are as wide as all of it. */
export interface Window {
  left: number;
  top: number;
  scale: number;
}

interface Row {
  id: number;
  x: number;
  y: number;
  value: number | null;
  cluster: number | null;
}

/** The rows of `GET map`, as JSON Lines. */
export function pointsOf(lines: string): Points {
  const rows = JSON.parse(`[${lines.trimEnd().replaceAll("\n", ",")}]`) as Row[];
  return {
    x: Float32Array.from(rows, ({ x }) => x),
    y: Float32Array.from(rows, ({ y }) => y),
    value: Float64Array.from(rows, ({ value }) => value ?? NaN),
    cluster: Int32Array.from(rows, ({ cluster }) => cluster ?? 0),
  };
}

/** `#rrggbb` as the four bytes of a pixel. */
export function packed(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16)) as [number, number, number];
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The pixel of each point, 0 where it is hollow, and what colours mean; `valued`: of the property, else of clusters. */
export function tinted(points: Points, valued: boolean, paper: Paper): { pixels: Uint32Array; colours: Colours; sizes: number[] } {
  const component = points.cluster.map((cluster) => cluster - 1);
  const sizes: number[] = [];
  if (!valued) for (const rank of component) sizes[rank] = (sizes[rank] ?? 0) + 1;
  const colours = valued ? byNumber(points.value, paper) : byComponent({ component, sizes });
  const known = new Map<string | null, number>([[null, 0]]);
  const pixels = Uint32Array.from(colours.nodes, (colour) => {
    const pixel = known.get(colour) ?? packed(colour!);
    known.set(colour, pixel);
    return pixel;
  });
  return { pixels, colours, sizes };
}

/**
 * Draw each point as a square of so many pixels into the pixels of a picture; what comes later lies above. Hollow ones,
 * below all others, are lines of `line` around `paper`.
 */
export function paint(
  target: Uint32Array,
  width: number,
  points: Points,
  pixels: Uint32Array,
  seen: Window,
  side: number,
  [line, paper]: [line: number, paper: number],
): void {
  const hollow = (id: number) => pixels[id] === 0;
  if (pixels.includes(0)) {
    const around = Math.max(1, Math.round(side / 6));
    squares(target, width, points, seen, side, (id) => (hollow(id) ? line : null));
    if (side > 2) squares(target, width, points, seen, side - 2 * around, (id) => (hollow(id) ? paper : null));
  }
  squares(target, width, points, seen, side, (id) => (hollow(id) ? null : pixels[id]!));
}

/** In the colour of each, if it has one. */
function squares(
  target: Uint32Array,
  width: number,
  points: Points,
  seen: Window,
  side: number,
  colour: (id: number) => number | null,
): void {
  const height = target.length / width;
  const half = side >> 1;
  for (let id = 0; id < points.x.length; id++) {
    const pixel = colour(id);
    if (pixel === null) continue;
    const left = Math.round((points.x[id]! - seen.left) * seen.scale) - half;
    const top = Math.round((points.y[id]! - seen.top) * seen.scale) - half;
    if (left < -side || top < -side || left >= width || top >= height) continue;
    for (let row = Math.max(top, 0); row < Math.min(top + side, height); row++) {
      target.fill(pixel, row * width + Math.max(left, 0), row * width + Math.min(left + side, width));
    }
  }
}

/** The nearest item to a place, if it is as near as that. */
export function nearest({ x, y }: Points, at: Place, within: number): number | null {
  let [found, least] = [-1, within * within];
  for (let id = 0; id < x.length; id++) {
    const squared = (x[id]! - at.x) ** 2 + (y[id]! - at.y) ** 2;
    if (squared <= least) [found, least] = [id, squared];
  }
  return found < 0 ? null : found;
}

/** The items inside a line that is closed from its end to its beginning. */
export function inside({ x, y }: Points, line: readonly Place[]): number[] {
  const [left, right] = [Math.min(...line.map((each) => each.x)), Math.max(...line.map((each) => each.x))];
  const [top, bottom] = [Math.min(...line.map((each) => each.y)), Math.max(...line.map((each) => each.y))];
  const ids: number[] = [];
  for (let id = 0; id < x.length; id++) {
    const [across, down] = [x[id]!, y[id]!];
    if (across < left || across > right || down < top || down > bottom) continue;
    let within = false;
    line.forEach((a, place) => {
      const b = line[(place + 1) % line.length]!;
      if (a.y > down !== b.y > down && across < a.x + ((down - a.y) / (b.y - a.y)) * (b.x - a.x)) within = !within;
    });
    if (within) ids.push(id);
  }
  return ids;
}

/** All of the map in the middle of so many pixels. */
export function whole({ x, y }: Points, width: number, height: number, border: number): Window {
  const [right, bottom] = [x, y].map((places) => places.reduce((most, place) => Math.max(most, place), 0)) as [number, number];
  const scale = Math.min((width - 2 * border) / (right || 1), (height - 2 * border) / (bottom || 1));
  return { left: (right - width / scale) / 2, top: (bottom - height / scale) / 2, scale };
}

/** So much nearer, or further away, what lies at a pixel staying there. */
export function zoomed(seen: Window, at: Place, factor: number): Window {
  const scale = seen.scale * factor;
  return { left: seen.left + at.x / seen.scale - at.x / scale, top: seen.top + at.y / seen.scale - at.y / scale, scale };
}
