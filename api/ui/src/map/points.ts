/** Positions of items on the map, indexed by id: coordinates from 0 to 1, with y downwards. */
export interface Points {
  x: Float32Array;
  y: Float32Array;
  /** Value of the requested property; NaN for an item without one. */
  value: Float64Array;
  /** Number of the item's cluster from 1, the largest; 0 if no clusters were requested. */
  cluster: Int32Array;
}

/** A position on the map or, where noted, in screen pixels. */
export interface Point {
  x: number;
  y: number;
}

/**
 * The visible part of the map. `left` and `top` are the map coordinates of its upper left corner; the scales are the
 * numbers of pixels per unit of the map. They differ, because the map fills its space: only which items are next to each
 * other has a meaning.
 */
export interface MapWindow {
  left: number;
  top: number;
  scaleX: number;
  scaleY: number;
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

/** Return the position of an item in screen pixels. */
export function pixelOf({ x, y }: Points, id: number, { left, top, scaleX, scaleY }: MapWindow): Point {
  return { x: (x[id]! - left) * scaleX, y: (y[id]! - top) * scaleY };
}

/** Return the position on the map of a pixel. */
export function placeOf(pixel: Point, { left, top, scaleX, scaleY }: MapWindow): Point {
  return { x: left + pixel.x / scaleX, y: top + pixel.y / scaleY };
}

/**
 * Return the id of the nearest item to a point; null if none is within `maxDistance`.
 *
 * @param stretch - length of a unit of y, where a unit of x has the length 1.
 */
export function nearestPoint({ x, y }: Pick<Points, "x" | "y">, point: Point, maxDistance: number, stretch = 1): number | null {
  let [nearest, minSquared] = [-1, maxDistance * maxDistance];
  for (let id = 0; id < x.length; id++) {
    const squaredDistance = (x[id]! - point.x) ** 2 + ((y[id]! - point.y) * stretch) ** 2;
    if (squaredDistance <= minSquared) [nearest, minSquared] = [id, squaredDistance];
  }
  return nearest < 0 ? null : nearest;
}

/** Return the id of the nearest item to a pixel; null if none is within `reach` pixels. */
export function nearestItem(points: Points, pixel: Point, mapWindow: MapWindow, reach: number): number | null {
  return nearestPoint(points, placeOf(pixel, mapWindow), reach / mapWindow.scaleX, mapWindow.scaleY / mapWindow.scaleX);
}

/** Return the ids inside a polygon on the map. The last point is joined to the first. */
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

/** Return the window in which the map fills a canvas up to its border. */
export function fitWindow({ x, y }: Points, width: number, height: number, border: number): MapWindow {
  const [right, bottom] = [x, y].map((coordinates) => coordinates.reduce((max, coordinate) => Math.max(max, coordinate), 0)) as [number, number];
  const [scaleX, scaleY] = [(width - 2 * border) / (right || 1), (height - 2 * border) / (bottom || 1)];
  return { left: (right - width / scaleX) / 2, top: (bottom - height / scaleY) / 2, scaleX, scaleY };
}

/** Zoom by a factor. The map position at a pixel stays there. */
export function zoomAt(mapWindow: MapWindow, pixel: Point, factor: number): MapWindow {
  const { x, y } = placeOf(pixel, mapWindow);
  const [scaleX, scaleY] = [mapWindow.scaleX * factor, mapWindow.scaleY * factor];
  return { left: x - pixel.x / scaleX, top: y - pixel.y / scaleY, scaleX, scaleY };
}

/** Move the window by a number of pixels. */
export function moveBy(mapWindow: MapWindow, { x, y }: Point): MapWindow {
  return { ...mapWindow, left: mapWindow.left - x / mapWindow.scaleX, top: mapWindow.top - y / mapWindow.scaleY };
}
