import type { Range } from "./axis";

/** The visible part of a plot, as fractions of its axes: x to the right, y upward. */
export interface PlotWindow {
  x: Range;
  y: Range;
}

/** Coordinates of points. */
export interface Positions {
  x: Float32Array;
  y: Float32Array;
}

export const FULL_WINDOW: PlotWindow = { x: [0, 1], y: [0, 1] };

const MIN_SPAN = 1e-4; // least part of an axis that zooming shows

/** Scale and offset that turn fractions of an axis into pixels, for each axis. */
export interface Projection {
  x: [scale: number, offset: number];
  y: [scale: number, offset: number];
}

/** Return the projection of the visible part to this many pixels, with y downward. */
export function projectionOf({ x: [left, right], y: [bottom, top] }: PlotWindow, width: number, height: number): Projection {
  const [xScale, yScale] = [width / (right - left), -height / (top - bottom)];
  return { x: [xScale, -left * xScale], y: [yScale, -top * yScale] };
}

/** Return the pixels at which points lie, from their fractions of the axes. */
export function toPixels({ x, y }: Positions, { x: [xScale, xOffset], y: [yScale, yOffset] }: Projection): Positions {
  return { x: x.map((fraction) => fraction * xScale + xOffset), y: y.map((fraction) => fraction * yScale + yOffset) };
}

/** Zoom by a factor. The point at these fractions of the visible part stays where it is. */
export function zoomAt({ x, y }: PlotWindow, at: { x: number; y: number }, factor: number): PlotWindow {
  const zoomRange = ([start, end]: Range, fraction: number): Range => {
    const span = Math.min(Math.max((end - start) / factor, MIN_SPAN), 4);
    const fixed = start + (end - start) * fraction;
    return [fixed - span * fraction, fixed + span * (1 - fraction)];
  };
  return { x: zoomRange(x, at.x), y: zoomRange(y, at.y) };
}

/** Move the visible part by fractions of itself. */
export function moveBy({ x, y }: PlotWindow, right: number, up: number): PlotWindow {
  const moveRange = ([start, end]: Range, share: number): Range => [start + (end - start) * share, end + (end - start) * share];
  return { x: moveRange(x, right), y: moveRange(y, up) };
}

/** Return the diameter of a dot in screen pixels: the more dots there are, the smaller they are. */
export function dotSize(count: number): number {
  return count <= 500 ? 9 : count <= 5000 ? 7 : count <= 50_000 ? 5 : 3;
}

/**
 * Paint points as disks into the pixels of an image. Later points cover earlier ones.
 *
 * @param colors - the pixel of each point, or one pixel for all
 * @param mask - paints only the points whose entry is `layer`; null paints all of them
 */
export function paintDots(
  image: Uint32Array,
  width: number,
  { x, y }: Positions,
  { x: [xScale, xOffset], y: [yScale, yOffset] }: Projection,
  colors: Uint32Array | number,
  diameter: number,
  mask: Uint8Array | null = null,
  layer = 1,
): void {
  const height = image.length / width;
  const radius = diameter / 2;
  const spans = spansOf(diameter);
  for (let index = 0; index < x.length; index++) {
    if (mask !== null && mask[index] !== layer) continue;
    const left = Math.round(x[index]! * xScale + xOffset - radius);
    const top = Math.round(y[index]! * yScale + yOffset - radius);
    // NaN, the position of a point without a value, fails this comparison too.
    if (!(left > -diameter && left < width && top > -diameter && top < height)) continue;
    const color = typeof colors === "number" ? colors : colors[index]!;
    for (let row = 0; row < diameter; row++) {
      const line = top + row;
      if (line < 0 || line >= height) continue;
      const inset = spans[row]!;
      const end = line * width + Math.min(left + diameter - inset, width);
      for (let pixel = line * width + Math.max(left + inset, 0); pixel < end; pixel++) image[pixel] = color;
    }
  }
}

/** Return how many pixels each row of a disk lacks at either end. */
function spansOf(diameter: number): Int32Array {
  const radius = diameter / 2;
  return Int32Array.from({ length: diameter }, (_, row) => {
    const distance = Math.abs(row + 0.5 - radius);
    return Math.round(radius - Math.sqrt(Math.max(radius * radius - distance * distance, 0)));
  });
}

const MAX_CIRCLES = 20_000; // more dots are embedded as an image, because programs draw so many circles slowly

/** Return the dots of a canvas as SVG: a circle each, or an image if there are many. */
export function dotsSvg(
  canvas: HTMLCanvasElement,
  { x, y }: Positions,
  colors: Uint32Array,
  mask: Uint8Array | null,
  { left, top, width, height }: { left: number; top: number; width: number; height: number },
): string {
  if (x.length > MAX_CIRCLES) return `<image x="${left}" y="${top}" width="${width}" height="${height}" href="${canvas.toDataURL()}"/>`;
  const radius = dotSize(x.length) / 2;
  const circles = (layer: 0 | 1) =>
    Array.from(x, (pixel, index) => {
      const isInside = pixel >= 0 && pixel <= width && y[index]! >= 0 && y[index]! <= height;
      if (!isInside || (mask ? mask[index] : 1) !== layer) return "";
      const opacity = layer === 0 ? ` fill-opacity="0.2"` : "";
      return `<circle cx="${pixel.toFixed(1)}" cy="${y[index]!.toFixed(1)}" r="${radius}" fill="${unpackColor(colors[index]!)}"${opacity}/>`;
    }).join("");
  return `<g transform="translate(${left} ${top})">${circles(0)}${circles(1)}</g>`;
}

/** Return the color of a packed pixel as `#rrggbb`. */
function unpackColor(pixel: number): string {
  return `#${[0, 8, 16].map((shift) => ((pixel >>> shift) & 255).toString(16).padStart(2, "0")).join("")}`;
}
