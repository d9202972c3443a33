import { type Caption, captionSvg } from "./caption";
import { lighten } from "./color";
import type { Point } from "./layout";
import { FADED_OPACITY, edgeOpacity, edgeWidth } from "./underlay";
import { escapeXml } from "./xml";

/** A node of an exported graph. */
export interface DrawnNode extends Point {
  width: number;
  height: number;
  title: string;
  /** Null draws a hollow node. */
  color: string | null;
  isFaded: boolean;
  /** SVG of the depiction. */
  depictionSvg: string;
}

/** An edge between two node indices, with its similarity from 0 to 1. */
export type DrawnEdge = [source: number, target: number, similarity: number];

/** CSS colors of the background, of text and of edges. */
export interface Palette {
  background: string;
  text: string;
  edge: string;
}

const MARGIN = 40;
const ROOT = /<svg\b[^>]*\bviewBox=(["'])(.*?)\1[^>]*>([\s\S]*)<\/svg>/;
const BACKGROUND = /<rect style='opacity:1.0;fill:#FFFFFF;stroke:none'[^>]*>\s*<\/rect>/; // RDKit writes this background.

/** Render a graph as an SVG file. Depictions stay vector graphics. */
export function graphSvg(nodes: DrawnNode[], edges: DrawnEdge[], caption: Caption, palette: Palette): string {
  const left = Math.min(...nodes.map((node) => node.x - node.width / 2)) - MARGIN;
  const top = Math.min(...nodes.map((node) => node.y - node.height / 2)) - MARGIN;
  const width = Math.max(...nodes.map((node) => node.x + node.width / 2)) + MARGIN - left;
  const height = Math.max(...nodes.map((node) => node.y + node.height / 2)) + MARGIN - top;
  const captionBlock = captionSvg(caption, round(width), palette.text);
  const box = [left, top, width, height + captionBlock.height].map(round);
  const corner = `x="${box[0]}" y="${box[1]}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"`,
    ` viewBox="${box.join(" ")}" width="${box[2]}" height="${box[3]}">\n`,
    `<rect ${corner} width="${box[2]}" height="${box[3]}" fill="${palette.background}"/>\n`,
    `<g stroke="${palette.edge}" stroke-opacity="${edgeOpacity(edges.length)}">\n`,
    `${edges.map((edge) => edgeSvg(nodes, edge)).join("")}</g>\n`,
    `<g font-family="sans-serif" font-size="10" text-anchor="middle" fill="${palette.text}">\n`,
    `${nodes.map((node) => nodeSvg(node, palette)).join("")}</g>\n`,
    `${captionBlock.svg.replace("<svg ", `<svg x="${round(left + MARGIN / 2)}" y="${round(top + height)}" `)}\n`,
    `</svg>\n`,
  ].join("");
}

/** Remove the white background of a depiction, so that the color below shows. */
export function removeBackground(depictionSvg: string): string {
  return depictionSvg.replace(BACKGROUND, "");
}

function edgeSvg(nodes: DrawnNode[], [source, target, similarity]: DrawnEdge): string {
  const [a, b] = [nodes[source], nodes[target]];
  if (!a || !b) return "";
  const ends = `x1="${round(a.x)}" y1="${round(a.y)}" x2="${round(b.x)}" y2="${round(b.y)}"`;
  return `<line ${ends} stroke-width="${round(edgeWidth(similarity))}"/>\n`;
}

function nodeSvg({ x, y, width, height, title, color, isFaded, depictionSvg }: DrawnNode, { edge }: Palette): string {
  const rectangle = `x="${round(x - width / 2)}" y="${round(y - height / 2)}" width="${width}" height="${height}"`;
  const [, , box, content] = ROOT.exec(depictionSvg) ?? [];
  const fill = color === null ? "#ffffff" : lighten(color);
  const frame = `<rect ${rectangle} rx="6" fill="${fill}" stroke="${color ?? edge}" stroke-width="${color === null ? 1 : 3}"/>`;
  const drawing = content === undefined ? "" : `<svg ${rectangle} viewBox="${box}" fill="#000000">${removeBackground(content)}</svg>`;
  const label = `<text x="${round(x)}" y="${round(y + height / 2 + 12)}">${escapeXml(title)}</text>`;
  return `<g${isFaded ? ` opacity="${FADED_OPACITY}"` : ""}>${frame}${drawing}${label}</g>\n`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
