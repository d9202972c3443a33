import { interpolateViridis } from "d3-scale-chromatic";
import { type Colours, DISTINCT, OTHER } from "../graph/colour";

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

const STEPS = 256;
const SCALE = Array.from({ length: STEPS }, (_, step) => packed(interpolateViridis(step / (STEPS - 1))));
const DISTINCT_PACKED = DISTINCT.map(packed);
const OTHER_PACKED = packed(OTHER);

/** `#rrggbb` as the four bytes of a pixel. */
export function packed(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16)) as [number, number, number];
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The colour of each point, and what colours mean; `valued` says whether they are of the property, else of clusters. */
export function tinted(points: Points, valued: boolean): { pixels: Uint32Array; colours: Colours; sizes: number[]; without: number } {
  const pixels = new Uint32Array(points.x.length);
  if (!valued) {
    const sizes: number[] = [];
    points.cluster.forEach((cluster, id) => {
      pixels[id] = DISTINCT_PACKED[cluster - 1] ?? OTHER_PACKED;
      sizes[cluster - 1] = (sizes[cluster - 1] ?? 0) + 1;
    });
    return { pixels, colours: { nodes: [], components: DISTINCT.slice(0, sizes.length), range: null }, sizes, without: 0 };
  }
  let [least, most, without] = [Infinity, -Infinity, 0];
  for (const value of points.value) {
    if (Number.isNaN(value)) without++;
    else [least, most] = [Math.min(least, value), Math.max(most, value)];
  }
  const span = most - least || 1;
  points.value.forEach((value, id) => {
    pixels[id] = Number.isNaN(value) ? OTHER_PACKED : SCALE[Math.round(((value - least) / span) * (STEPS - 1))]!;
  });
  const range: Colours["range"] = without < pixels.length ? [least, most] : null;
  return { pixels, colours: { nodes: [], components: [], range }, sizes: [], without };
}

/** Draw each point as a square of so many pixels into the pixels of a picture; what comes later lies above. */
export function paint(target: Uint32Array, width: number, points: Points, pixels: Uint32Array, seen: Window, side: number): void {
  const height = target.length / width;
  const half = side >> 1;
  for (let id = 0; id < pixels.length; id++) {
    const left = Math.round((points.x[id]! - seen.left) * seen.scale) - half;
    const top = Math.round((points.y[id]! - seen.top) * seen.scale) - half;
    if (left < -side || top < -side || left >= width || top >= height) continue;
    for (let row = Math.max(top, 0); row < Math.min(top + side, height); row++) {
      target.fill(pixels[id]!, row * width + Math.max(left, 0), row * width + Math.min(left + side, width));
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
