import cytoscape, { type BoundingBox12, type Core, type NodeSingular, type StylesheetJson } from "cytoscape";
import { loadSvg } from "../depiction/svgCache";
import type { Point } from "./layout";
import { MAX_EDGES, type Neighborhood } from "./neighborhood";
import { nearestEdge } from "./nearestEdge";
import { removeBackground } from "./svg";
import { DOT_RADIUS, type Drawing, FADED_OPACITY, HEIGHT, QUERY_SCALE, FRAME_WIDTH, Underlay, WIDTH } from "./underlay";

const MIN_LEGIBLE_WIDTH = 48; // screen pixels; wider nodes show their depictions
const MAX_DEPICTIONS = 60; // if more nodes are in view, all are drawn as dots
const LABEL_SIZE = 11; // screen pixels
const DEPICTION_PAUSE = 80; // milliseconds without a move before depictions are loaded
const POINTER_REACH = 5; // largest distance of the pointer from a hovered edge, in screen pixels
const MARGIN = 30;
const MAX_FIT_ZOOM = 1.6; // largest zoom of `fit`, so that few nodes are not enlarged too much
const PNG_SCALE = 2; // pixels of a PNG file for each screen pixel
const MAX_PNG_SIZE = 8000; // pixels of a PNG file in either direction
const CAPTION_INDENT = 10; // pixels between the left border and the caption

/**
 * Node or edge under the pointer, the position of the pointer and the size of the canvas, in screen pixels. `isDot`
 * is true for a node without a depiction.
 */
export type PointerTarget = Point & { width: number; height: number } & ({ node: number; isDot: boolean } | { edge: number });

/** Callbacks of the canvas. Nodes are identified by their index. */
export interface Listener {
  onTap: (index: number | null) => void;
  onHover: (target: PointerTarget | null) => void;
  depictionUrl: (index: number) => string;
  titleOf: (index: number) => string;
}

/**
 * The graph on the screen.
 *
 * Cytoscape.js draws depictions and labels and handles gestures. Edges, colored plates and dots are drawn on the
 * underlay.
 */
export class GraphCanvas {
  private readonly cy: Core;
  private readonly darkScheme = matchMedia("(prefers-color-scheme: dark)");
  private readonly underlay: Underlay;
  private readonly drawing: Drawing;
  private nodes: NodeSingular[] = [];
  private component: Int32Array = new Int32Array();
  private matches: readonly boolean[] | null = null;
  private selectedIndex: number | null = null;
  private isLegible = false;
  private readonly pendingDepictions = new Map<NodeSingular, AbortController>(); // requests in progress
  private readonly objectUrls: string[] = []; // URLs to revoke
  private width: number;
  private height: number;
  private timer = 0;
  private readonly lifetime = new AbortController();

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
    this.drawing = { edges, edgeCount: 0, path: [], hoveredEdge: null, colors: [], hasDots: true, isFaded: this.isFaded };
    this.underlay = new Underlay(this.cy, () => this.nodes.map((node) => node.position()), this.drawing);
    this.updateStyle();
    this.cy.on("tap", (event) => {
      if (event.target === this.cy) listener.onTap(null);
      else if (event.target.isNode()) listener.onTap(event.target.data("index") as number);
    });
    this.cy.on("mouseover", "node", ({ target }) => {
      const node = target as NodeSingular;
      this.setHoveredEdge(null);
      listener.onHover({ node: node.data("index") as number, isDot: this.drawing.hasDots, ...node.renderedPosition(), ...this.size() });
    });
    this.cy.on("mouseout", "node", () => listener.onHover(null));
    this.cy.on("mousemove", ({ target, position, renderedPosition }) => {
      if (target !== this.cy) return;
      const { edges, edgeCount } = this.drawing;
      const nodes = this.nodes.map((node) => node.position());
      const edge = nearestEdge(edges, Math.min(edgeCount, MAX_EDGES), nodes, position, POINTER_REACH / this.cy.zoom());
      this.setHoveredEdge(edge);
      listener.onHover(edge === null ? null : { edge, ...renderedPosition, ...this.size() });
    });
    this.cy.on("viewport", this.scheduleDepictions);
    this.cy.on("resize", this.handleResize);
    const { signal } = this.lifetime;
    // Cytoscape.js caches the position of its container, which may have moved since.
    container.addEventListener("pointerenter", () => this.cy.resize(), { signal });
    container.addEventListener("pointerleave", this.handleLeave, { signal });
    this.darkScheme.addEventListener("change", this.updateStyle);
  }

  /** Show nodes at these positions, with all edges among them. */
  show({ nodes, edges }: Neighborhood, points: Point[]): void {
    const previousCount = this.nodes.length;
    this.releaseDepictions();
    this.cy.batch(() => {
      this.cy.elements().remove();
      this.cy.add(
        nodes.map((_, index) => ({
          group: "nodes",
          data: { id: `${index}`, index, title: this.listener.titleOf(index) },
          position: { ...points[index]! },
          classes: index === 0 ? "query" : "",
        })),
      );
      this.nodes = this.cy.nodes().toArray() as NodeSingular[];
    });
    this.update({ edges, edgeCount: edges.similarity.length, hoveredEdge: null });
    if (nodes.length !== previousCount) this.fit();
    this.scheduleDepictions();
  }

  /** Show only the first edges, which are the most similar ones. Nodes without a component fade. */
  applyCut(edgeCount: number, component: Int32Array): void {
    this.component = component;
    this.update({ edgeCount });
  }

  /** Fade the nodes that do not match a filter or a brush; null fades none. */
  setMatches(matches: readonly boolean[] | null): void {
    this.matches = matches;
    this.update({});
  }

  setColors(colors: (string | null)[]): void {
    this.update({ colors });
  }

  select(index: number | null): void {
    this.selectedIndex = index;
    this.update({});
    this.cy.batch(() => this.nodes.forEach((node, nodeIndex) => setClass(node, "selected", nodeIndex === index)));
  }

  /** Center a node unless it is in view. */
  reveal(index: number): void {
    const node = this.nodes[index];
    if (node === undefined) return;
    const { x, y } = node.position();
    if (isOutside(this.cy.extent(), x, y, 0)) this.cy.center(node);
  }

  /** Highlight a path, given as node indices. */
  trace(path: number[]): void {
    this.update({ path });
    this.cy.batch(() => this.nodes.forEach((node, index) => setClass(node, "on-path", path.includes(index))));
  }

  /** Zoom to fit all nodes into view, but not closer than `MAX_FIT_ZOOM`. */
  fit(): void {
    this.cy.fit(undefined, MARGIN);
    if (this.cy.zoom() <= MAX_FIT_ZOOM) return;
    this.cy.zoom(MAX_FIT_ZOOM);
    this.cy.center();
  }

  zoom(factor: number): void {
    const middle = { x: this.cy.width() / 2, y: this.cy.height() / 2 };
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: middle });
  }

  /**
   * Render the whole graph as it is drawn now, with a caption below it.
   *
   * @param captionOf - renders the caption for a width in screen pixels.
   */
  async toPng(background: string, captionOf: (width: number) => { svg: string; height: number }): Promise<Blob> {
    const box = this.cy.elements().boundingBox();
    // Cytoscape.js multiplies this by devicePixelRatio.
    const scale = Math.min(PNG_SCALE, MAX_PNG_SIZE / Math.max(box.w, box.h)) / devicePixelRatio;
    const nodes = await createImageBitmap(await this.cy.png({ output: "blob-promise", full: true, scale }));
    const pixelRatio = scale * devicePixelRatio;
    const { svg, height } = captionOf(Math.round(nodes.width / pixelRatio));
    const captionImage = await loadImage(svg);
    const context = new OffscreenCanvas(nodes.width, nodes.height + height * pixelRatio).getContext("2d")!;
    context.fillStyle = background;
    context.fillRect(0, 0, context.canvas.width, context.canvas.height);
    context.scale(nodes.width / box.w, nodes.height / box.h);
    context.translate(-box.x1, -box.y1);
    this.underlay.paint(context, box);
    context.resetTransform();
    context.globalAlpha = 1;
    context.drawImage(nodes, 0, 0);
    context.drawImage(captionImage, CAPTION_INDENT * pixelRatio, nodes.height, nodes.width, height * pixelRatio);
    URL.revokeObjectURL(captionImage.src);
    return context.canvas.convertToBlob();
  }

  /** Return the current positions of the nodes, which the user may have dragged. */
  points(): Point[] {
    return this.nodes.map((node) => ({ ...node.position() }));
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.lifetime.abort();
    this.darkScheme.removeEventListener("change", this.updateStyle);
    this.releaseDepictions();
    this.underlay.destroy();
    this.cy.removeAllListeners(); // Destroying an instance that was just resized would still measure its container.
    this.cy.destroy();
  }

  private size(): { width: number; height: number } {
    return { width: this.cy.width(), height: this.cy.height() };
  }

  private readonly handleLeave = (): void => {
    this.setHoveredEdge(null);
    this.listener.onHover(null);
  };

  private setHoveredEdge(edge: number | null): void {
    if (edge !== this.drawing.hoveredEdge) this.update({ hoveredEdge: edge });
  }

  private update(change: Partial<Drawing>): void {
    Object.assign(this.drawing, change);
    this.underlay.requestPaint();
    if (this.isLegible) this.cy.batch(() => this.nodes.forEach((node, index) => setClass(node, "faded", this.isFaded(index))));
  }

  private readonly isFaded = (index: number): boolean =>
    index > 0 && (this.component[index] === -1 || this.matches?.[index] === false) && index !== this.selectedIndex && !this.drawing.path.includes(index);

  private readonly updateStyle = (): void => {
    const variables = getComputedStyle(this.container);
    const cssColor = (name: string) => variables.getPropertyValue(`--${name}`).trim();
    this.underlay.palette = [cssColor("edge"), cssColor("accent"), cssColor("paper")];
    this.underlay.requestPaint();
    this.cy.style(style(cssColor));
  };

  /** Cytoscape.js also reports a resize when an attribute changes. The view is then kept. */
  private readonly handleResize = (): void => {
    const [width, height] = [this.cy.width(), this.cy.height()];
    if (width !== this.width || height !== this.height) this.fit();
    [this.width, this.height] = [width, height];
  };

  /** The container is marked busy until all depictions in view are drawn. */
  private readonly scheduleDepictions = (): void => {
    this.container.ariaBusy = "true";
    clearTimeout(this.timer);
    this.timer = setTimeout(this.updateDepictions, DEPICTION_PAUSE);
  };

  /** Load the depictions of the nodes in view if these are few and large enough. Otherwise draw all nodes as dots. */
  private readonly updateDepictions = (): void => {
    const box = this.cy.extent();
    const isVisible = this.nodes.map((node) => !isOutside(box, node.position("x"), node.position("y"), WIDTH));
    this.isLegible = this.cy.zoom() * WIDTH >= MIN_LEGIBLE_WIDTH && isVisible.filter(Boolean).length <= MAX_DEPICTIONS;
    this.cy.batch(() => {
      this.nodes.forEach((node, index) => {
        setClass(node, "legible", this.isLegible);
        const needsDepiction = this.isLegible && isVisible[index];
        if (needsDepiction) node.style("font-size", LABEL_SIZE / this.cy.zoom());
        if (!needsDepiction) this.pendingDepictions.get(node)?.abort();
        else if (node.data("picture") === undefined && !this.pendingDepictions.has(node))
          void this.loadDepiction(node, this.listener.depictionUrl(index));
      });
    });
    this.update({ hasDots: !this.isLegible });
    this.updateBusy();
  };

  /** Load the depiction of a node. If it fails, the node stays empty, and the next move tries again. */
  private async loadDepiction(node: NodeSingular, url: string): Promise<void> {
    const controller = new AbortController();
    this.pendingDepictions.set(node, controller);
    const objectUrl = await this.loadObjectUrl(url, controller.signal).catch(() => null);
    if (this.pendingDepictions.get(node) !== controller) return;
    this.pendingDepictions.delete(node);
    if (objectUrl !== null) node.data("picture", objectUrl);
    this.updateBusy();
  }

  /** Return an object URL of a depiction. The image is decoded already, so Cytoscape.js can load it at once. */
  private async loadObjectUrl(url: string, signal: AbortSignal): Promise<string> {
    const svg = removeBackground(await loadSvg(url, signal));
    signal.throwIfAborted();
    const { src } = await loadImage(svg);
    if (signal.aborted) URL.revokeObjectURL(src);
    else this.objectUrls.push(src);
    return src;
  }

  /** Abort all requests for depictions and revoke the object URLs. */
  private releaseDepictions(): void {
    this.pendingDepictions.forEach((controller) => controller.abort());
    this.pendingDepictions.clear();
    this.objectUrls.splice(0).forEach((url) => URL.revokeObjectURL(url));
  }

  private updateBusy(): void {
    if (this.pendingDepictions.size === 0) this.container.ariaBusy = "false";
  }
}

/** Return a decoded image of an SVG. Its `src` is an object URL. */
async function loadImage(svg: string): Promise<HTMLImageElement> {
  const image = new Image();
  image.crossOrigin = "anonymous"; // Cytoscape.js uses the same mode.
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  return image;
}

function isOutside({ x1, x2, y1, y2 }: BoundingBox12, x: number, y: number, margin: number): boolean {
  return x < x1 - margin || x > x2 + margin || y < y1 - margin || y > y2 + margin;
}

/** Set or remove a class. An unchanged class is skipped, because each change restyles the node. */
function setClass(node: NodeSingular, name: string, isSet: boolean): void {
  if (node.hasClass(name) !== isSet) node.toggleClass(name, isSet);
}

function style(cssColor: (name: string) => string): StylesheetJson {
  return [
    {
      selector: "node",
      style: { shape: "ellipse", width: 2 * DOT_RADIUS, height: 2 * DOT_RADIUS, "background-opacity": 0, "bounds-expansion": FRAME_WIDTH },
    },
    {
      selector: "node.legible",
      style: {
        shape: "rectangle",
        width: WIDTH,
        height: HEIGHT,
        label: "data(title)",
        color: cssColor("text"),
        "font-family": "system-ui, sans-serif",
        "text-valign": "bottom",
        "text-margin-y": 3 + FRAME_WIDTH,
        "text-wrap": "ellipsis",
        "text-max-width": "90px",
        "text-background-color": cssColor("paper"),
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
    { selector: "node.query", style: { width: 2 * DOT_RADIUS * QUERY_SCALE, height: 2 * DOT_RADIUS * QUERY_SCALE } },
    { selector: "node.legible.query", style: { width: WIDTH * QUERY_SCALE, height: HEIGHT * QUERY_SCALE, "font-weight": "bold" } },
    { selector: "node.legible.faded", style: { opacity: FADED_OPACITY } },
    {
      selector: "node.on-path",
      style: { "underlay-color": cssColor("accent"), "underlay-opacity": 0.35, "underlay-padding": 6 },
    },
    {
      selector: "node.selected",
      style: { "outline-color": cssColor("accent"), "outline-width": 4, "outline-offset": 2 + FRAME_WIDTH, "z-index": 9 },
    },
  ];
}
