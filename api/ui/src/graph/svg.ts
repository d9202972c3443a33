import { type Caption, drawn } from "./caption";
import { pale } from "./colour";
import type { Point } from "./layout";
import { FADED, faintness, thickness } from "./underlay";
import { escaped } from "./xml";

/** A node as it is drawn in a file. */
export interface Drawn extends Point {
  width: number;
  height: number;
  title: string;
  /** Null is hollow. */
  colour: string | null;
  faded: boolean;
  /** The SVG that shows it. */
  picture: string;
}

/** An edge between two places, and how strong it is, 0 to 1. */
export type Joined = [source: number, target: number, similarity: number];

/** What it is drawn on and with. */
export interface Inks {
  paper: string;
  text: string;
  edge: string;
}

const MARGIN = 40;
const ROOT = /<svg\b[^>]*\bviewBox=(["'])(.*?)\1[^>]*>([\s\S]*)<\/svg>/;
const BACKGROUND = /<rect style='opacity:1.0;fill:#FFFFFF;stroke:none'[^>]*>\s*<\/rect>/; // as RDKit writes it

/** The graph as an SVG file: pictures stay drawings, not pixels. */
export function svg(nodes: Drawn[], edges: Joined[], caption: Caption, inks: Inks): string {
  const left = Math.min(...nodes.map((node) => node.x - node.width / 2)) - MARGIN;
  const top = Math.min(...nodes.map((node) => node.y - node.height / 2)) - MARGIN;
  const width = Math.max(...nodes.map((node) => node.x + node.width / 2)) + MARGIN - left;
  const height = Math.max(...nodes.map((node) => node.y + node.height / 2)) + MARGIN - top;
  const below = drawn(caption, rounded(width), inks.text);
  const box = [left, top, width, height + below.height].map(rounded);
  const corner = `x="${box[0]}" y="${box[1]}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"`,
    ` viewBox="${box.join(" ")}" width="${box[2]}" height="${box[3]}">\n`,
    `<rect ${corner} width="${box[2]}" height="${box[3]}" fill="${inks.paper}"/>\n`,
    `<g stroke="${inks.edge}" stroke-opacity="${faintness(edges.length)}">\n`,
    `${edges.map((edge) => line(nodes, edge)).join("")}</g>\n`,
    `<g font-family="sans-serif" font-size="10" text-anchor="middle" fill="${inks.text}">\n`,
    `${nodes.map((node) => shape(node, inks)).join("")}</g>\n`,
    `${below.svg.replace("<svg ", `<svg x="${rounded(left + MARGIN / 2)}" y="${rounded(top + height)}" `)}\n`,
    `</svg>\n`,
  ].join("");
}

/** What hides nothing of what it lies on. */
export function bare(picture: string): string {
  return picture.replace(BACKGROUND, "");
}

function line(nodes: Drawn[], [source, target, similarity]: Joined): string {
  const [one, other] = [nodes[source], nodes[target]];
  if (!one || !other) return "";
  const ends = `x1="${rounded(one.x)}" y1="${rounded(one.y)}" x2="${rounded(other.x)}" y2="${rounded(other.y)}"`;
  return `<line ${ends} stroke-width="${rounded(thickness(similarity))}"/>\n`;
}

function shape({ x, y, width, height, title, colour, faded, picture }: Drawn, { edge }: Inks): string {
  const place = `x="${rounded(x - width / 2)}" y="${rounded(y - height / 2)}" width="${width}" height="${height}"`;
  const [, , box, inside] = ROOT.exec(picture) ?? [];
  const fill = colour === null ? "#ffffff" : pale(colour);
  const frame = `<rect ${place} rx="6" fill="${fill}" stroke="${colour ?? edge}" stroke-width="${colour === null ? 1 : 3}"/>`;
  const drawing = inside === undefined ? "" : `<svg ${place} viewBox="${box}" fill="#000000">${bare(inside)}</svg>`;
  const label = `<text x="${rounded(x)}" y="${rounded(y + height / 2 + 12)}">${escaped(title)}</text>`;
  return `<g${faded ? ` opacity="${FADED}"` : ""}>${frame}${drawing}${label}</g>\n`;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
