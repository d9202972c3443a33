import type { BoundingBox12, Core } from "cytoscape";
import { lighten } from "./color";
import type { Point } from "./layout";
import { type Edges, MAX_EDGES } from "./neighborhood";

/** Width of a node, in the unit of layout points. */
export const WIDTH = 72;
/** Height of a node, in the unit of layout points. */
export const HEIGHT = 54;
/** Factor by which the query is larger than other nodes. */
export const QUERY_SCALE = 1.4;
/** Width of the frame around a depiction. */
export const FRAME_WIDTH = 3;
/** Radius of a node that is drawn as a dot. */
export const DOT_RADIUS = 18;
const MIN_DOT_RADIUS = 5; // screen pixels, at any zoom
/** Opacity of nodes without an edge at the current threshold. */
export const FADED_OPACITY = 0.2;
const SIMILARITY_STEP = 0.05; // step of similarity: edges within one step are equally wide
const MAX_EDGE_OPACITY = 0.45; // opacity of edges if they are few
const MIN_EDGE_OPACITY = 0.12;
const MANY_EDGES = 500; // number of edges beyond which each is lighter
const MIN_EDGE_WIDTH = 0.5; // screen pixels, at any zoom
const PATH_WIDTH = 6; // width of a highlighted path

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Consecutive edges of equal width: the half-open range of indices `from` to `to`. */
export interface Stroke {
  width: number;
  from: number;
  to: number;
}

/** Return the width of an edge in the unit of layout points. */
export function edgeWidth(similarity: number): number {
  return 0.5 + 6.5 * similarity ** 3;
}

/** Return the opacity of each of so many edges. */
export function edgeOpacity(edges: number): number {
  return Math.max(MIN_EDGE_OPACITY, MAX_EDGE_OPACITY * Math.min(1, MANY_EDGES / edges));
}

/** Group the first edges into few strokes, the widest first. */
export function strokes(similarity: Float64Array, edgeCount: number): Stroke[] {
  const result: Stroke[] = [];
  for (let from = 0, to = 0; from < edgeCount; from = to) {
    const rank = Math.round(similarity[from]! / SIMILARITY_STEP);
    while (to < edgeCount && Math.round(similarity[to]! / SIMILARITY_STEP) === rank) to++;
    result.push({ width: edgeWidth(rank * SIMILARITY_STEP), from, to });
  }
  return result;
}

/** Everything that the underlay draws. Arrays have one entry per node or edge. */
export interface Drawing {
  edges: Edges;
  /** Number of edges to draw, counted from the most similar one. */
  edgeCount: number;
  path: number[];
  /** Index of the edge under the pointer. */
  hoveredEdge: number | null;
  /** Color of each node; null draws a hollow node. */
  colors: (string | null)[];
  /** Whether nodes are drawn as dots, without depictions. */
  hasDots: boolean;
  isFaded: (index: number) => boolean;
}

/**
 * Canvas below Cytoscape.js that draws edges and the colored plates or dots of nodes.
 *
 * Cytoscape.js draws each element separately, which is too slow for thousands of edges.
 */
export class Underlay {
  /** CSS colors of edges, of highlights, and of hollow nodes. */
  palette: [edge: string, accent: string, background: string] = ["gray", "gray", "white"];

  private readonly canvas = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d")!;
  private frame = 0;

  constructor(
    private readonly cy: Core,
    private readonly points: () => Point[],
    private readonly drawing: Drawing,
  ) {
    cy.container()!.prepend(this.canvas);
    cy.on("viewport resize position", this.requestPaint);
  }

  /** Paint in the next animation frame, in which Cytoscape.js draws too. */
  readonly requestPaint = (): void => {
    this.frame ||= requestAnimationFrame(this.paintFrame);
  };

  destroy(): void {
    cancelAnimationFrame(this.frame);
  }

  private readonly paintFrame = (): void => {
    this.frame = 0;
    const [width, height] = [this.cy.width(), this.cy.height()].map((size) => Math.round(size * devicePixelRatio));
    if (this.canvas.width !== width) this.canvas.width = width!;
    if (this.canvas.height !== height) this.canvas.height = height!;
    const [{ x, y }, zoom] = [this.cy.pan(), this.cy.zoom() * devicePixelRatio];
    this.context.resetTransform();
    this.context.clearRect(0, 0, width!, height!);
    this.context.setTransform(zoom, 0, 0, zoom, x * devicePixelRatio, y * devicePixelRatio);
    this.paint(this.context, this.cy.extent());
  };

  /** Paint the part of the graph that is in the box, in layout coordinates. */
  paint(context: Context, box: BoundingBox12): void {
    const points = this.points();
    this.edges(context, box, points);
    this.path(context, points);
    this.nodes(context, box, points);
  }

  private edges(context: Context, box: BoundingBox12, points: Point[]): void {
    const { source, target, similarity } = this.drawing.edges;
    [context.strokeStyle] = this.palette;
    const edgeCount = Math.min(this.drawing.edgeCount, MAX_EDGES);
    context.globalAlpha = edgeOpacity(edgeCount);
    for (const { width, from, to } of strokes(similarity, edgeCount)) {
      context.lineWidth = Math.max(width, MIN_EDGE_WIDTH / context.getTransform().a);
      context.beginPath();
      for (let edge = from; edge < to; edge++) {
        const [a, b] = [points[source[edge]!]!, points[target[edge]!]!];
        if (Math.max(a.x, b.x) < box.x1 || Math.min(a.x, b.x) > box.x2) continue;
        if (Math.max(a.y, b.y) < box.y1 || Math.min(a.y, b.y) > box.y2) continue;
        context.moveTo(a.x, a.y);
        context.lineTo(b.x, b.y);
      }
      context.stroke();
    }
  }

  private path(context: Context, points: Point[]): void {
    const { edges, path, hoveredEdge } = this.drawing;
    [, context.strokeStyle] = this.palette;
    context.globalAlpha = 1;
    context.lineWidth = PATH_WIDTH;
    for (const polyline of [path, hoveredEdge === null ? [] : [edges.source[hoveredEdge]!, edges.target[hoveredEdge]!]]) {
      context.beginPath();
      for (const index of polyline) context.lineTo(points[index]!.x, points[index]!.y);
      context.stroke();
    }
  }

  private nodes(context: Context, box: BoundingBox12, points: Point[]): void {
    const { colors, hasDots, isFaded } = this.drawing;
    const pixel = 1 / context.getTransform().a;
    const [edge, , background] = this.palette;
    points.forEach(({ x, y }, index) => {
      const scale = index === 0 ? QUERY_SCALE : 1;
      const [width, height] = [WIDTH * scale + 2 * FRAME_WIDTH, HEIGHT * scale + 2 * FRAME_WIDTH];
      if (x + width < box.x1 || x - width > box.x2 || y + height < box.y1 || y - height > box.y2) return;
      const color = colors[index] ?? null;
      context.globalAlpha = isFaded(index) ? FADED_OPACITY : 1;
      context.strokeStyle = edge;
      context.lineWidth = (color === null ? 2 : 1) * pixel;
      context.fillStyle = color ?? background;
      context.beginPath();
      if (hasDots) context.arc(x, y, scale * Math.max(DOT_RADIUS, MIN_DOT_RADIUS * devicePixelRatio * pixel), 0, 2 * Math.PI);
      else context.rect(x - width / 2, y - height / 2, width, height);
      context.fill();
      if (hasDots || color === null) context.stroke();
      if (hasDots) return;
      // Depictions are drawn in black, so they need a light background.
      context.fillStyle = color === null ? "#ffffff" : lighten(color);
      context.fillRect(x - width / 2 + FRAME_WIDTH, y - height / 2 + FRAME_WIDTH, width - 2 * FRAME_WIDTH, height - 2 * FRAME_WIDTH);
    });
  }
}
