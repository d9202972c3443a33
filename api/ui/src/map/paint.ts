import { colorByComponent, colorByNumber, type Coloring, type ColorScheme, OTHER_COLOR } from "../graph/color";
import { type MapWindow, packColor, type Points } from "./points";

/** How a point is drawn. Points of a higher level cover those of lower ones. */
export const LEVELS = { faded: 0, missing: 1, plain: 2, marked: 3 } as const;

/** The colors and levels of all points. */
export interface PointStyle {
  /** Color of each point as the 32-bit integer of an RGBA pixel. */
  pixels: Uint32Array;
  /** One of `LEVELS` for each point. */
  levels: Uint8Array;
}

/** Color of items without a value. They are drawn smaller and below all others. */
export const MISSING_COLOR = OTHER_COLOR;
const FADED_COLORS: Record<ColorScheme, string> = { light: "#e3e7ea", dark: "#2a3036" };

/**
 * Return the meaning of the colors of all points, and the sizes of the clusters, the largest first.
 *
 * @param hasValues - true to color by the values, false to color by cluster.
 */
export function colorPoints({ value, cluster }: Points, hasValues: boolean, colorScheme: ColorScheme): { colors: Coloring; sizes: number[] } {
  if (hasValues) return { colors: colorByNumber(value, colorScheme), sizes: [] };
  const component = cluster.map((number) => number - 1);
  const sizes: number[] = [];
  for (const rank of component) sizes[rank] = (sizes[rank] ?? 0) + 1;
  return { colors: colorByComponent({ component, sizes }), sizes };
}

/**
 * Return how the points are drawn.
 *
 * @param shownIds - items that are not faded; null fades none.
 * @param markedIds - items that are marked.
 */
export function styleOf(colors: Coloring, colorScheme: ColorScheme, shownIds: Iterable<number> | null, markedIds: Iterable<number>): PointStyle {
  const pixelOfColor = new Map<string | null, number>([[null, packColor(MISSING_COLOR)]]);
  const pixels = Uint32Array.from(colors.nodes, (color) => {
    const pixel = pixelOfColor.get(color) ?? packColor(color!);
    pixelOfColor.set(color, pixel);
    return pixel;
  });
  const levels = Uint8Array.from(colors.nodes, (color) => (color === null ? LEVELS.missing : LEVELS.plain));
  if (shownIds !== null) {
    const isShown = new Uint8Array(levels.length);
    for (const id of shownIds) isShown[id] = 1;
    const fadedPixel = packColor(FADED_COLORS[colorScheme]);
    isShown.forEach((shown, id) => !shown && ([pixels[id], levels[id]] = [fadedPixel, LEVELS.faded]));
  }
  for (const id of markedIds) levels[id] = LEVELS.marked;
  return { pixels, levels };
}

/**
 * Paint each point as a disc into the pixels of a canvas. Later points cover earlier ones of the same level.
 *
 * @param side - diameter of a disc in pixels.
 * @param outline - pixel of the line around marked points.
 */
export function paint(target: Uint32Array, width: number, points: Points, { pixels, levels }: PointStyle, mapWindow: MapWindow, side: number, outline: number): void {
  const smallSide = Math.max(2, Math.round(side * 0.6));
  paintDiscs(target, width, points, mapWindow, smallSide, (id) => (levels[id] === LEVELS.faded ? pixels[id]! : null));
  paintDiscs(target, width, points, mapWindow, smallSide, (id) => (levels[id] === LEVELS.missing ? pixels[id]! : null));
  paintDiscs(target, width, points, mapWindow, side, (id) => (levels[id] === LEVELS.plain ? pixels[id]! : null));
  if (!levels.includes(LEVELS.marked)) return;
  paintDiscs(target, width, points, mapWindow, side + 2 * Math.max(1, Math.round(side / 4)), (id) => (levels[id] === LEVELS.marked ? outline : null));
  paintDiscs(target, width, points, mapWindow, side, (id) => (levels[id] === LEVELS.marked ? pixels[id]! : null));
}

/** Paint the discs of all points for which `pixelOf` returns a pixel. */
function paintDiscs(target: Uint32Array, width: number, points: Points, mapWindow: MapWindow, side: number, pixelOf: (id: number) => number | null): void {
  const height = target.length / width;
  const half = side >> 1;
  const insets = insetsOf(side);
  for (let id = 0; id < points.x.length; id++) {
    const pixel = pixelOf(id);
    if (pixel === null) continue;
    const left = Math.round((points.x[id]! - mapWindow.left) * mapWindow.scaleX) - half;
    const top = Math.round((points.y[id]! - mapWindow.top) * mapWindow.scaleY) - half;
    if (left < -side || top < -side || left >= width || top >= height) continue;
    for (let row = Math.max(top, 0); row < Math.min(top + side, height); row++) {
      const inset = insets[row - top]!;
      target.fill(pixel, row * width + Math.max(left + inset, 0), row * width + Math.max(Math.min(left + side - inset, width), 0));
    }
  }
}

/** Return how many pixels are missing at both ends of each row of a disc. A small disc is a square. */
function insetsOf(side: number): number[] {
  const radius = side / 2;
  return Array.from({ length: side }, (_, row) => (side < 4 ? 0 : Math.round(radius - Math.sqrt(radius ** 2 - (row + 0.5 - radius) ** 2))));
}
