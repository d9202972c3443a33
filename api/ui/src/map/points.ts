import { colorByComponent, colorByNumber, type Coloring, type ColorScheme } from "../graph/color";

/** Positions of items on the map, indexed by id: coordinates from 0 to 1, with y downwards. */
export interface Points {
  x: Float32Array;
  y: Float32Array;
  /** Value of the requested property; NaN for an item without one. */
  value: Float64Array;
  /** Rank of the item's cluster from 1, the largest; 0 if no clusters were requested. */
  cluster: Int32Array;
}

/** A position on the map or, where noted, in screen pixels. */
export interface Point {
  x: number;
  y: number;
}

/**
 * The visible part of the map. `left` and `top` are the map coordinates of its upper left corner; `scale` is the
 * number of pixels per unit of the map.
 */
export interface MapWindow {
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

/** Parse the rows of `GET map` in JSON Lines. */
export function pointsOf(lines: string): Points {
  const rows = JSON.parse(`[${lines.trimEnd().replaceAll("\n", ",")}]`) as Row[];
  return {
    x: Float32Array.from(rows, ({ x }) => x),
    y: Float32Array.from(rows, ({ y }) => y),
    value: Float64Array.from(rows, ({ value }) => value ?? NaN),
    cluster: Int32Array.from(rows, ({ cluster }) => cluster ?? 0),
  };
}

/** Pack `#rrggbb` into the 32-bit integer of an opaque RGBA pixel. */
export function packColor(color: string): number {
  const [red, green, blue] = [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16)) as [number, number, number];
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/**
 * Return the pixel of each point, 0 for hollow points, and the meaning of the colors.
 *
 * @param hasValues - true to color by the values, false to color by cluster.
 */
export function colorPoints(points: Points, hasValues: boolean, colorScheme: ColorScheme): { pixels: Uint32Array; colors: Coloring; sizes: number[] } {
  const component = points.cluster.map((cluster) => cluster - 1);
  const sizes: number[] = [];
  if (!hasValues) for (const rank of component) sizes[rank] = (sizes[rank] ?? 0) + 1;
  const colors = hasValues ? colorByNumber(points.value, colorScheme) : colorByComponent({ component, sizes });
  const pixelOfColor = new Map<string | null, number>([[null, 0]]);
  const pixels = Uint32Array.from(colors.nodes, (color) => {
    const pixel = pixelOfColor.get(color) ?? packColor(color!);
    pixelOfColor.set(color, pixel);
    return pixel;
  });
  return { pixels, colors, sizes };
}

/**
 * Paint each point as a square into the pixels of a canvas. Later points cover earlier ones.
 *
 * Hollow points lie below all others. They are outlined in the color `line` and filled with `background`.
 *
 * @param side - length of a square in pixels.
 */
export function paint(
  target: Uint32Array,
  width: number,
  points: Points,
  pixels: Uint32Array,
  mapWindow: MapWindow,
  side: number,
  [line, background]: [line: number, background: number],
): void {
  const isHollow = (id: number) => pixels[id] === 0;
  if (pixels.includes(0)) {
    const border = Math.max(1, Math.round(side / 6));
    paintSquares(target, width, points, mapWindow, side, (id) => (isHollow(id) ? line : null));
    if (side > 2) paintSquares(target, width, points, mapWindow, side - 2 * border, (id) => (isHollow(id) ? background : null));
  }
  paintSquares(target, width, points, mapWindow, side, (id) => (isHollow(id) ? null : pixels[id]!));
}

/** Paint the squares of all points for which `pixelOf` returns a pixel. */
function paintSquares(
  target: Uint32Array,
  width: number,
  points: Points,
  mapWindow: MapWindow,
  side: number,
  pixelOf: (id: number) => number | null,
): void {
  const height = target.length / width;
  const half = side >> 1;
  for (let id = 0; id < points.x.length; id++) {
    const pixel = pixelOf(id);
    if (pixel === null) continue;
    const left = Math.round((points.x[id]! - mapWindow.left) * mapWindow.scale) - half;
    const top = Math.round((points.y[id]! - mapWindow.top) * mapWindow.scale) - half;
    if (left < -side || top < -side || left >= width || top >= height) continue;
    for (let row = Math.max(top, 0); row < Math.min(top + side, height); row++) {
      target.fill(pixel, row * width + Math.max(left, 0), row * width + Math.min(left + side, width));
    }
  }
}

/** Return the id of the nearest item to a point; null if none is within `maxDistance`. */
export function nearestPoint({ x, y }: Pick<Points, "x" | "y">, point: Point, maxDistance: number): number | null {
  let [nearest, minSquared] = [-1, maxDistance * maxDistance];
  for (let id = 0; id < x.length; id++) {
    const squaredDistance = (x[id]! - point.x) ** 2 + (y[id]! - point.y) ** 2;
    if (squaredDistance <= minSquared) [nearest, minSquared] = [id, squaredDistance];
  }
  return nearest < 0 ? null : nearest;
}

/** Return the ids inside a polygon. The last point is joined to the first. */
export function idsInside({ x, y }: Pick<Points, "x" | "y">, line: readonly Point[]): number[] {
  const [left, right] = [Math.min(...line.map((point) => point.x)), Math.max(...line.map((point) => point.x))];
  const [top, bottom] = [Math.min(...line.map((point) => point.y)), Math.max(...line.map((point) => point.y))];
  const ids: number[] = [];
  for (let id = 0; id < x.length; id++) {
    const [px, py] = [x[id]!, y[id]!];
    if (px < left || px > right || py < top || py > bottom) continue;
    let isInside = false;
    line.forEach((a, index) => {
      const b = line[(index + 1) % line.length]!;
      if (a.y > py !== b.y > py && px < a.x + ((py - a.y) / (b.y - a.y)) * (b.x - a.x)) isInside = !isInside;
    });
    if (isInside) ids.push(id);
  }
  return ids;
}

/** Return the window that shows the whole map in the middle of a canvas. */
export function fitWindow({ x, y }: Points, width: number, height: number, border: number): MapWindow {
  const [right, bottom] = [x, y].map((coordinates) => coordinates.reduce((max, coordinate) => Math.max(max, coordinate), 0)) as [number, number];
  const scale = Math.min((width - 2 * border) / (right || 1), (height - 2 * border) / (bottom || 1));
  return { left: (right - width / scale) / 2, top: (bottom - height / scale) / 2, scale };
}

/** Zoom by a factor. The map point at the pixel `point` stays there. */
export function zoomAt(mapWindow: MapWindow, point: Point, factor: number): MapWindow {
  const scale = mapWindow.scale * factor;
  return { left: mapWindow.left + point.x / mapWindow.scale - point.x / scale, top: mapWindow.top + point.y / mapWindow.scale - point.y / scale, scale };
}
