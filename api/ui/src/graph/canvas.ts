import cytoscape, { type BoundingBox12, type Core, type NodeSingular, type StylesheetJson } from "cytoscape";
import { drawing } from "../picture/drawing";
import type { Point } from "./layout";
import { MOST_EDGES, type Neighbourhood } from "./neighbourhood";
import { edgeAt } from "./pointing";
import { bare } from "./svg";
import { DOT, type Drawing, FADED, HEIGHT, LARGER, RIM, Underlay, WIDTH } from "./underlay";

const LEGIBLE = 48; // pixels on the screen, from which on a node shows its picture
const MOST_PICTURES = 60; // in view, beyond which nodes are dots
const LABEL = 11; // pixels on the screen
const PAUSE = 80; // ms without a move, before pictures are asked for
const NEAR = 5; // pixels from an edge at which it is pointed at
const MARGIN = 30;
const CLOSE = 1.6; // zoom, at most, where little is to be seen
const SHARP = 2; // pixels of a picture file for one of the screen
const LARGEST = 8000; // pixels of a picture file, either way
const INDENT = 10; // of what stands below it

/** What is pointed at, and where in a canvas of what size; `dot`: without a picture of its own. */
export type Target = Point & { width: number; height: number } & ({ node: number; dot: boolean } | { edge: number });

/** What the graph asks of the page, and tells it. Nodes are places. */
export interface Listener {
  picked: (place: number | null) => void;
  over: (target: Target | null) => void;
  picture: (place: number) => string;
  title: (place: number) => string;
}

/** The graph on the screen: pictures, names and gestures by Cytoscape.js, told what has changed, the rest under it. */
export class Canvas {
  private readonly cy: Core;
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private readonly underlay: Underlay;
  private readonly drawing: Drawing;
  private nodes: NodeSingular[] = [];
  private component: Int32Array = new Int32Array();
  private chosen: number | null = null;
  private legible = false;
  private readonly awaited = new Map<NodeSingular, AbortController>(); // whose pictures are on their way
  private readonly addresses: string[] = []; // of pictures
  private width: number;
  private height: number;
  private timer = 0;
  private readonly ended = new AbortController();

  constructor(
    private readonly container: HTMLElement,
    private readonly listener: Listener,
  ) {
    this.cy = cytoscape({
      container,
      minZoom: 0.04,
      maxZoom: 3,
      boxSelectionEnabled: false,
      autounselectify: true,
      textureOnViewport: true,
    });
    [this.width, this.height] = [this.cy.width(), this.cy.height()];
    const edges = { source: new Int32Array(), target: new Int32Array(), similarity: new Float64Array() };
    this.drawing = { edges, held: 0, path: [], pointed: null, colours: [], dots: true, faded: this.faded };
    this.underlay = new Underlay(this.cy, () => this.nodes.map((node) => node.position()), this.drawing);
    this.restyle();
    this.cy.on("tap", (event) => {
      if (event.target === this.cy) listener.picked(null);
      else if (event.target.isNode()) listener.picked(event.target.data("place") as number);
    });
    this.cy.on("mouseover", "node", ({ target }) => {
      const node = target as NodeSingular;
      this.point(null);
      listener.over({ node: node.data("place") as number, dot: this.drawing.dots, ...node.renderedPosition(), ...this.size() });
    });
    this.cy.on("mouseout", "node", () => listener.over(null));
    this.cy.on("mousemove", ({ target, position, renderedPosition }) => {
      if (target !== this.cy) return;
      const { edges, held } = this.drawing;
      const nodes = this.nodes.map((node) => node.position());
      const edge = edgeAt(edges, Math.min(held, MOST_EDGES), nodes, position, NEAR / this.cy.zoom());
      this.point(edge);
      listener.over(edge === null ? null : { edge, ...renderedPosition, ...this.size() });
    });
    this.cy.on("viewport", this.moved);
    this.cy.on("resize", this.resized);
    const { signal } = this.ended;
    container.addEventListener("pointerenter", () => this.cy.resize(), { signal }); // or it would believe that it is where it was
    container.addEventListener("pointerleave", this.left, { signal });
    this.dark.addEventListener("change", this.restyle);
  }

  /** Show these nodes there, all edges among them held. */
  show({ nodes, edges }: Neighbourhood, points: Point[]): void {
    const before = this.nodes.length;
    this.forget();
    this.cy.batch(() => {
      this.cy.elements().remove();
      this.cy.add(
        nodes.map((_, place) => ({
          group: "nodes",
          data: { id: `${place}`, place, title: this.listener.title(place) },
          position: { ...points[place]! },
          classes: place === 0 ? "query" : "",
        })),
      );
      this.nodes = this.cy.nodes().toArray() as NodeSingular[];
    });
    this.draw({ edges, held: edges.similarity.length, pointed: null });
    if (nodes.length !== before) this.fit();
    this.moved();
  }

  /** Let only the first so many edges hold; nodes of no component fade. */
  cut(edges: number, component: Int32Array): void {
    this.component = component;
    this.draw({ held: edges });
  }

  colour(colours: (string | null)[]): void {
    this.draw({ colours });
  }

  choose(place: number | null): void {
    this.chosen = place;
    this.draw({});
    this.cy.batch(() => this.nodes.forEach((node, each) => toggled(node, "chosen", each === place)));
  }

  /** Bring a node into view, if it is not. */
  reveal(place: number): void {
    const node = this.nodes[place];
    if (node === undefined) return;
    const { x, y } = node.position();
    if (beyond(this.cy.extent(), x, y, 0)) this.cy.center(node);
  }

  /** Mark the way from place to place. */
  trace(path: number[]): void {
    this.draw({ path });
    this.cy.batch(() => this.nodes.forEach((node, place) => toggled(node, "on-path", path.includes(place))));
  }

  /** Everything in view, but nothing enlarged beyond reason. */
  fit(): void {
    this.cy.fit(undefined, MARGIN);
    if (this.cy.zoom() <= CLOSE) return;
    this.cy.zoom(CLOSE);
    this.cy.center();
  }

  zoom(factor: number): void {
    const middle = { x: this.cy.width() / 2, y: this.cy.height() / 2 };
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: middle });
  }

  /** All of it, as it is drawn at this moment, and under it a drawing that is as wide as it is told. */
  async png(background: string, below: (width: number) => { svg: string; height: number }): Promise<Blob> {
    const box = this.cy.elements().boundingBox();
    const scale = Math.min(SHARP, LARGEST / Math.max(box.w, box.h)) / devicePixelRatio; // by which it is multiplied
    const nodes = await createImageBitmap(await this.cy.png({ output: "blob-promise", full: true, scale }));
    const sharp = scale * devicePixelRatio;
    const { svg, height } = below(Math.round(nodes.width / sharp));
    const words = await loaded(svg);
    const context = new OffscreenCanvas(nodes.width, nodes.height + height * sharp).getContext("2d")!;
    context.fillStyle = background;
    context.fillRect(0, 0, context.canvas.width, context.canvas.height);
    context.scale(nodes.width / box.w, nodes.height / box.h);
    context.translate(-box.x1, -box.y1);
    this.underlay.paint(context, box);
    context.resetTransform();
    context.globalAlpha = 1;
    context.drawImage(nodes, 0, 0);
    context.drawImage(words, INDENT * sharp, nodes.height, nodes.width, height * sharp);
    URL.revokeObjectURL(words.src);
    return context.canvas.convertToBlob();
  }

  /** Where the nodes are now, after somebody may have dragged them. */
  points(): Point[] {
    return this.nodes.map((node) => ({ ...node.position() }));
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.ended.abort();
    this.dark.removeEventListener("change", this.restyle);
    this.forget();
    this.underlay.destroy();
    this.cy.removeAllListeners(); // it goes on to measure its place when that has just changed
    this.cy.destroy();
  }

  private size(): { width: number; height: number } {
    return { width: this.cy.width(), height: this.cy.height() };
  }

  private readonly left = (): void => {
    this.point(null);
    this.listener.over(null);
  };

  private point(edge: number | null): void {
    if (edge !== this.drawing.pointed) this.draw({ pointed: edge });
  }

  private draw(change: Partial<Drawing>): void {
    Object.assign(this.drawing, change);
    this.underlay.changed();
    if (this.legible) this.cy.batch(() => this.nodes.forEach((node, place) => toggled(node, "faded", this.faded(place))));
  }

  private readonly faded = (place: number): boolean =>
    this.component[place] === -1 && place > 0 && place !== this.chosen && !this.drawing.path.includes(place);

  private readonly restyle = (): void => {
    const variables = getComputedStyle(this.container);
    const colour = (name: string) => variables.getPropertyValue(`--${name}`).trim();
    this.underlay.inks = [colour("edge"), colour("accent"), colour("paper")];
    this.underlay.changed();
    this.cy.style(style(colour));
  };

  /** Cytoscape.js says so whenever an attribute changes, too: then nobody's view is to be lost. */
  private readonly resized = (): void => {
    const [width, height] = [this.cy.width(), this.cy.height()];
    if (width !== this.width || height !== this.height) this.fit();
    [this.width, this.height] = [width, height];
  };

  /** It is busy until all that is in view has been drawn. */
  private readonly moved = (): void => {
    this.container.ariaBusy = "true";
    clearTimeout(this.timer);
    this.timer = setTimeout(this.pictures, PAUSE);
  };

  /** Where nodes are large enough and few, those in view get their pictures; the others are dots. */
  private readonly pictures = (): void => {
    const box = this.cy.extent();
    const seen = this.nodes.map((node) => !beyond(box, node.position("x"), node.position("y"), WIDTH));
    this.legible = this.cy.zoom() * WIDTH >= LEGIBLE && seen.filter(Boolean).length <= MOST_PICTURES;
    this.cy.batch(() => {
      this.nodes.forEach((node, place) => {
        toggled(node, "legible", this.legible);
        const wanted = this.legible && seen[place];
        if (wanted) node.style("font-size", LABEL / this.cy.zoom());
        if (!wanted) this.awaited.get(node)?.abort();
        else if (node.data("picture") === undefined && !this.awaited.has(node))
          void this.depict(node, this.listener.picture(place));
      });
    });
    this.draw({ dots: !this.legible });
    this.settle();
  };

  /** A node whose picture does not come keeps its plate, and asks again after the next move. */
  private async depict(node: NodeSingular, address: string): Promise<void> {
    const controller = new AbortController();
    this.awaited.set(node, controller);
    const picture = await this.painted(address, controller.signal).catch(() => null);
    if (this.awaited.get(node) !== controller) return;
    this.awaited.delete(node);
    if (picture !== null) node.data("picture", picture);
    this.settle();
  }

  /** The address of a drawing that Cytoscape.js, which asks for it anew, has at once. */
  private async painted(address: string, signal: AbortSignal): Promise<string> {
    const drawn = bare(await drawing(address, signal));
    signal.throwIfAborted();
    const { src } = await loaded(drawn);
    if (signal.aborted) URL.revokeObjectURL(src);
    else this.addresses.push(src);
    return src;
  }

  /** Nobody waits for the pictures of these nodes any longer. */
  private forget(): void {
    this.awaited.forEach((controller) => controller.abort());
    this.awaited.clear();
    this.addresses.splice(0).forEach((address) => URL.revokeObjectURL(address));
  }

  private settle(): void {
    if (this.awaited.size === 0) this.container.ariaBusy = "false";
  }
}

/** An image of a drawing, at an address of its own. */
async function loaded(svg: string): Promise<HTMLImageElement> {
  const image = new Image();
  image.crossOrigin = "anonymous"; // as Cytoscape.js asks for it
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  return image;
}

function beyond({ x1, x2, y1, y2 }: BoundingBox12, x: number, y: number, margin: number): boolean {
  return x < x1 - margin || x > x2 + margin || y < y1 - margin || y > y2 + margin;
}

/** Classes are compared first: setting one anew costs a restyling. */
function toggled(node: NodeSingular, name: string, wanted: boolean): void {
  if (node.hasClass(name) !== wanted) node.toggleClass(name, wanted);
}

function style(colour: (name: string) => string): StylesheetJson {
  return [
    {
      selector: "node",
      style: { shape: "ellipse", width: 2 * DOT, height: 2 * DOT, "background-opacity": 0, "bounds-expansion": RIM },
    },
    {
      selector: "node.legible",
      style: {
        shape: "rectangle",
        width: WIDTH,
        height: HEIGHT,
        label: "data(title)",
        color: colour("text"),
        "font-family": "system-ui, sans-serif",
        "text-valign": "bottom",
        "text-margin-y": 3 + RIM,
        "text-wrap": "ellipsis",
        "text-max-width": "90px",
        "text-background-color": colour("paper"),
        "text-background-opacity": 0.8,
      },
    },
    {
      selector: "node.legible[picture]",
      style: {
        "background-image": "data(picture)",
        "background-fit": "contain",
      },
    },
    { selector: "node.query", style: { width: 2 * DOT * LARGER, height: 2 * DOT * LARGER } },
    { selector: "node.legible.query", style: { width: WIDTH * LARGER, height: HEIGHT * LARGER, "font-weight": "bold" } },
    { selector: "node.legible.faded", style: { opacity: FADED } },
    {
      selector: "node.on-path",
      style: { "underlay-color": colour("accent"), "underlay-opacity": 0.35, "underlay-padding": 6 },
    },
    {
      selector: "node.chosen",
      style: { "outline-color": colour("accent"), "outline-width": 4, "outline-offset": 2 + RIM, "z-index": 9 },
    },
  ];
}
