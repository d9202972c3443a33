import { escapeXml } from "./xml";

/** Caption of an exported graph. */
export interface Caption {
  lines: string[];
  /** Color scale: the texts at its ends and its colors from one end to the other; null if there is no scale. */
  scale: { ends: [string, string]; stops: string[] } | null;
}

const LINE_HEIGHT = 18;
const LETTER_WIDTH = 7; // upper bound for most letters
const SCALE_WIDTH = 120;

/** Render a caption as an SVG of a given width, and return its height too. */
export function captionSvg({ lines, scale }: Caption, width: number, color: string): { svg: string; height: number } {
  const textLines = lines.flatMap((line) => wrapLine(line, Math.floor((width - LETTER_WIDTH) / LETTER_WIDTH)));
  const height = LINE_HEIGHT * (textLines.length + (scale ? 1 : 0)) + 10;
  const textElements = textLines.map((line, index) => `<text x="0" y="${LINE_HEIGHT * (index + 1)}">${escapeXml(line)}</text>`);
  return { svg: `${svgStartTag(width, height, color)}${textElements.join("")}${scale ? scaleSvg(scale, LINE_HEIGHT * textLines.length) : ""}</svg>`, height };
}

/** Split a line into pieces of at most so many letters, between words where possible. */
function wrapLine(line: string, letters: number): string[] {
  const maxLetters = Math.max(letters, 10);
  return line.match(new RegExp(`.{1,${maxLetters}}(?:\\s|$)|.{1,${maxLetters}}`, "gu")) ?? [];
}

function svgStartTag(width: number, height: number, color: string): string {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12" fill="${color}">`;
}

/** Render the color scale as rectangles, because every program draws those. */
function scaleSvg({ ends, stops }: { ends: [string, string]; stops: string[] }, top: number): string {
  const stepWidth = SCALE_WIDTH / stops.length;
  const steps = stops.map((color, index) => `<rect x="${index * stepWidth}" y="${top + 22}" width="${stepWidth}" height="10" fill="${color}"/>`);
  return `<g transform="translate(0 -14)">${steps.join("")}<text x="${SCALE_WIDTH + 8}" y="${top + 32}">${escapeXml(ends.join(" to "))}</text></g>`;
}
