import { escapeXml } from "./xml";

/** What a picture that leaves the page says of itself. */
export interface Caption {
  lines: string[];
  /** What the ends of the scale stand for, and its colours from one to the other; null where there is none. */
  scale: { ends: [string, string]; stops: string[] } | null;
}

const LINE_HEIGHT = 18;
const LETTER_WIDTH = 7; // as wide as most at most
const SCALE_WIDTH = 120;

/** As an SVG, as wide as that; and how high. */
export function captionSvg({ lines, scale }: Caption, width: number, color: string): { svg: string; height: number } {
  const textLines = lines.flatMap((line) => wrapLine(line, Math.floor((width - LETTER_WIDTH) / LETTER_WIDTH)));
  const height = LINE_HEIGHT * (textLines.length + (scale ? 1 : 0)) + 10;
  const textElements = textLines.map((line, index) => `<text x="0" y="${LINE_HEIGHT * (index + 1)}">${escapeXml(line)}</text>`);
  return { svg: `${svgStartTag(width, height, color)}${textElements.join("")}${scale ? scaleSvg(scale, LINE_HEIGHT * textLines.length) : ""}</svg>`, height };
}

/** Of at most so many letters, broken between words where there are any. */
function wrapLine(line: string, letters: number): string[] {
  const maxLetters = Math.max(letters, 10);
  return line.match(new RegExp(`.{1,${maxLetters}}(?:\\s|$)|.{1,${maxLetters}}`, "gu")) ?? [];
}

function svgStartTag(width: number, height: number, color: string): string {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12" fill="${color}">`;
}

/** Steps, which every program draws. */
function scaleSvg({ ends, stops }: { ends: [string, string]; stops: string[] }, top: number): string {
  const stepWidth = SCALE_WIDTH / stops.length;
  const steps = stops.map((color, index) => `<rect x="${index * stepWidth}" y="${top + 22}" width="${stepWidth}" height="10" fill="${color}"/>`);
  return `<g transform="translate(0 -14)">${steps.join("")}<text x="${SCALE_WIDTH + 8}" y="${top + 32}">${escapeXml(ends.join(" to "))}</text></g>`;
}
