import type { Point } from "./layout";
import { FADED, thickness } from "./underlay";

/** A node as it is drawn in a file. */
export interface Drawn extends Point {
  width: number;
  height: number;
  title: string;
  colour: string;
  faded: boolean;
  /** The SVG that shows it. */
  picture: string;
}

/** An edge between two places, and how strong it is, 0 to 1. */
export type Joined = [source: number, target: number, similarity: number];

const MARGIN = 40;
const FORBIDDEN = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // not characters of XML 1.0
const ROOT = /<svg\b[^>]*\bviewBox=(["'])(.*?)\1[^>]*>([\s\S]*)<\/svg>/;

/** The graph as an SVG file: pictures stay drawings, not pixels. */
export function svg(nodes: Drawn[], edges: Joined[]): string {
  const left = Math.min(...nodes.map((node) => node.x - node.width / 2)) - MARGIN;
  const top = Math.min(...nodes.map((node) => node.y - node.height / 2)) - MARGIN;
  const width = Math.max(...nodes.map((node) => node.x + node.width / 2)) + MARGIN - left;
  const height = Math.max(...nodes.map((node) => node.y + node.height / 2)) + MARGIN - top;
  const box = [left, top, width, height].map(rounded);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"`,
    ` viewBox="${box.join(" ")}" width="${box[2]}" height="${box[3]}">\n`,
    `<g stroke="#808a94" stroke-opacity="0.5">\n${edges.map((edge) => line(nodes, edge)).join("")}</g>\n`,
    `<g font-family="sans-serif" font-size="10" text-anchor="middle">\n${nodes.map(shape).join("")}</g>\n`,
    `</svg>\n`,
  ].join("");
}

function line(nodes: Drawn[], [source, target, similarity]: Joined): string {
  const [one, other] = [nodes[source], nodes[target]];
  if (!one || !other) return "";
  const ends = `x1="${rounded(one.x)}" y1="${rounded(one.y)}" x2="${rounded(other.x)}" y2="${rounded(other.y)}"`;
  return `<line ${ends} stroke-width="${rounded(thickness(similarity))}"/>\n`;
}

function shape({ x, y, width, height, title, colour, faded, picture }: Drawn): string {
  const place = `x="${rounded(x - width / 2)}" y="${rounded(y - height / 2)}" width="${width}" height="${height}"`;
  const [, , box, inside] = ROOT.exec(picture) ?? [];
  const frame = `<rect ${place} rx="6" fill="#ffffff" stroke="${colour}" stroke-width="3"/>`;
  const drawing = inside === undefined ? "" : `<svg ${place} viewBox="${box}">${inside}</svg>`;
  const label = `<text x="${rounded(x)}" y="${rounded(y + height / 2 + 12)}">${escaped(title)}</text>`;
  return `<g${faded ? ` opacity="${FADED}"` : ""}>${frame}${drawing}${label}</g>\n`;
}

function escaped(text: string): string {
  return text.replaceAll(FORBIDDEN, "").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
