import type { Point } from "./points";

const DIGITS = 4; // decimals of a coordinate from 0 to 1
const MAX_POINTS = 100; // points of a lasso in an address

/** Format the outline of a lasso for the address: `x,y` for each point, separated by semicolons. */
export function formatLasso(line: readonly Point[]): string {
  const step = Math.ceil(line.length / MAX_POINTS);
  const points = line.filter((_, index) => index % step === 0);
  return points.map(({ x, y }) => `${shorten(x)},${shorten(y)}`).join(";");
}

/** Parse the outline of a lasso; null if it is not one of at least three points. */
export function parseLasso(text: string | null): Point[] | null {
  const line = (text ?? "").split(";").slice(0, MAX_POINTS).map((point) => {
    const [x = NaN, y = NaN, ...rest] = point.split(",").map((coordinate) => (coordinate.trim() ? Number(coordinate) : NaN));
    return { x, y: rest.length ? NaN : y };
  });
  return line.length >= 3 && line.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y)) ? line : null;
}

function shorten(coordinate: number): string {
  return String(Number(coordinate.toFixed(DIGITS)));
}
