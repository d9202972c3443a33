import { escaped } from "./xml";

/** What a picture that leaves the page says of itself. */
export interface Caption {
  lines: string[];
  /** What the ends of the scale stand for, and its colours from one to the other; null where there is none. */
  scale: { ends: [string, string]; stops: string[] } | null;
}

const LINE = 18;
const LETTER = 7; // as wide as most at most
const SCALE = 120;

/** As an SVG, as wide as that; and how high. */
export function drawn({ lines, scale }: Caption, width: number, colour: string): { svg: string; height: number } {
  const broken = lines.flatMap((line) => pieces(line, Math.floor((width - LETTER) / LETTER)));
  const height = LINE * (broken.length + (scale ? 1 : 0)) + 10;
  const words = broken.map((line, place) => `<text x="0" y="${LINE * (place + 1)}">${escaped(line)}</text>`);
  return { svg: `${opened(width, height, colour)}${words.join("")}${scale ? bar(scale, LINE * broken.length) : ""}</svg>`, height };
}

/** Of at most so many letters, broken between words where there are any. */
function pieces(line: string, letters: number): string[] {
  const most = Math.max(letters, 10);
  return line.match(new RegExp(`.{1,${most}}(?:\\s|$)|.{1,${most}}`, "gu")) ?? [];
}

function opened(width: number, height: number, colour: string): string {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12" fill="${colour}">`;
}

/** Steps, which every program draws. */
function bar({ ends, stops }: { ends: [string, string]; stops: string[] }, top: number): string {
  const wide = SCALE / stops.length;
  const steps = stops.map((stop, place) => `<rect x="${place * wide}" y="${top + 22}" width="${wide}" height="10" fill="${stop}"/>`);
  return `<g transform="translate(0 -14)">${steps.join("")}<text x="${SCALE + 8}" y="${top + 32}">${escaped(ends.join(" to "))}</text></g>`;
}
