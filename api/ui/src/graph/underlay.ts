import type { BoundingBox12, Core } from "cytoscape";
import { pale } from "./colour";
import type { Point } from "./layout";
import { type Edges, MOST_EDGES } from "./neighbourhood";

export const WIDTH = 72; // of a node
export const HEIGHT = 54;
export const LARGER = 1.4; // the query
export const RIM = 3; // of a plate, around the picture on it
export const DOT = 18; // radius of a node without a picture
const LEAST_DOT = 5; // pixels
export const FADED = 0.2;
const CLASS = 0.05; // of similarity: edges of one class are equally wide
const FAINT = 0.45; // how much of what is under it an edge hides
const FAINTEST = 0.12;
const MANY = 500; // edges, beyond which each is lighter
const LEAST = 0.5; // pixels that an edge is wide, however far away it is
const PATH = 6; // how wide a path is

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Equally wide edges: those from one place in the list to another. */
export interface Stroke {
  width: number;
  from: number;
  to: number;
}

/** How wide an edge is, in the nodes' unit. */
export function thickness(similarity: number): number {
  return 0.5 + 6.5 * similarity ** 3;
}

/** How much each of so many edges hides. */
export function faintness(edges: number): number {
  return Math.max(FAINTEST, FAINT * Math.min(1, MANY / edges));
}

/** The first so many edges in few strokes, the widest first. */
export function strokes(similarity: Float64Array, held: number): Stroke[] {
  const found: Stroke[] = [];
  for (let from = 0, to = 0; from < held; from = to) {
    const rank = Math.round(similarity[from]! / CLASS);
    while (to < held && Math.round(similarity[to]! / CLASS) === rank) to++;
    found.push({ width: thickness(rank * CLASS), from, to });
  }
  return found;
}

/** What is drawn, by place. */
export interface Drawing {
  edges: Edges;
  /** How many of the edges hold: the first so many. */
  held: number;
  path: number[];
  /** The edge that is pointed at. */
  pointed: number | null;
  /** Null is hollow. */
  colours: (string | null)[];
  /** Whether nodes have no pictures. */
  dots: boolean;
  faded: (place: number) => boolean;
}

/** Edges, and the nodes' coloured plates or dots, on a canvas of its own under Cytoscape.js, which draws each element apart. */
export class Underlay {
  /** Of edges, of what is meant, and of what has no colour. */
  inks: [edge: string, accent: string, paper: string] = ["gray", "gray", "white"];

  private readonly canvas = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d")!;
  private frame = 0;

  constructor(
    private readonly cy: Core,
    private readonly points: () => Point[],
    private readonly drawing: Drawing,
  ) {
    cy.container()!.prepend(this.canvas);
    cy.on("viewport resize position", this.changed);
  }

  /** Draws in the frame that comes, in which Cytoscape.js draws too. */
  readonly changed = (): void => {
    this.frame ||= requestAnimationFrame(this.draw);
  };

  destroy(): void {
    cancelAnimationFrame(this.frame);
  }

  private readonly draw = (): void => {
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

  /** In the nodes' coordinates, as far as it can be seen in the box. */
  paint(context: Context, box: BoundingBox12): void {
    const points = this.points();
    this.edges(context, box, points);
    this.path(context, points);
    this.nodes(context, box, points);
  }

  private edges(context: Context, box: BoundingBox12, points: Point[]): void {
    const { source, target, similarity } = this.drawing.edges;
    [context.strokeStyle] = this.inks;
    const held = Math.min(this.drawing.held, MOST_EDGES);
    context.globalAlpha = faintness(held);
    for (const { width, from, to } of strokes(similarity, held)) {
      context.lineWidth = Math.max(width, LEAST / context.getTransform().a);
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
    const { edges, path, pointed } = this.drawing;
    [, context.strokeStyle] = this.inks;
    context.globalAlpha = 1;
    context.lineWidth = PATH;
    for (const way of [path, pointed === null ? [] : [edges.source[pointed]!, edges.target[pointed]!]]) {
      context.beginPath();
      for (const place of way) context.lineTo(points[place]!.x, points[place]!.y);
      context.stroke();
    }
  }

  private nodes(context: Context, box: BoundingBox12, points: Point[]): void {
    const { colours, dots, faded } = this.drawing;
    const pixel = 1 / context.getTransform().a;
    const [edge, , paper] = this.inks;
    points.forEach(({ x, y }, place) => {
      const larger = place === 0 ? LARGER : 1;
      const [width, height] = [WIDTH * larger + 2 * RIM, HEIGHT * larger + 2 * RIM];
      if (x + width < box.x1 || x - width > box.x2 || y + height < box.y1 || y - height > box.y2) return;
      const colour = colours[place] ?? null;
      context.globalAlpha = faded(place) ? FADED : 1;
      context.strokeStyle = edge;
      context.lineWidth = (colour === null ? 2 : 1) * pixel;
      context.fillStyle = colour ?? paper;
      context.beginPath();
      if (dots) context.arc(x, y, larger * Math.max(DOT, LEAST_DOT * devicePixelRatio * pixel), 0, 2 * Math.PI);
      else context.rect(x - width / 2, y - height / 2, width, height);
      context.fill();
      if (dots || colour === null) context.stroke();
      if (dots) return;
      context.fillStyle = colour === null ? "#ffffff" : pale(colour); // what structures are drawn for
      context.fillRect(x - width / 2 + RIM, y - height / 2 + RIM, width - 2 * RIM, height - 2 * RIM);
    });
  }
}
