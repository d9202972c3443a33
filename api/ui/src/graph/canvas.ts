import cytoscape, { type Core, type EdgeSingular, type NodeSingular, type StylesheetJson } from "cytoscape";
import type { Point } from "./layout";
import { MOST_EDGES, type Neighbourhood } from "./neighbourhood";

export const WIDTH = 72; // of a node
export const HEIGHT = 54;
export const LARGER = 1.4; // the query
const LEGIBLE = 32; // pixels on the screen, from which on a node shows its picture
const PAUSE = 80; // ms without a move, before pictures are asked for
const MARGIN = 30;
const CLOSE = 1.6; // zoom, at most, where little is to be seen

/** What the graph asks of the page, and tells it. Nodes are places. */
export interface Listener {
  picked: (place: number | null) => void;
  over: (place: number | null) => void;
  picture: (place: number) => string;
  title: (place: number) => string;
}

/** The graph on the screen: Cytoscape.js, told what has changed. */
export class Canvas {
  private readonly cy: Core;
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private nodes: NodeSingular[] = [];
  private edges: EdgeSingular[] = [];
  private held = 0;
  private timer = 0;

  constructor(
    container: HTMLElement,
    private readonly listener: Listener,
  ) {
    this.cy = cytoscape({
      container,
      style: style(container),
      minZoom: 0.04,
      maxZoom: 3,
      boxSelectionEnabled: false,
      autounselectify: true,
      hideEdgesOnViewport: true,
      textureOnViewport: true,
    });
    this.cy.on("tap", (event) => {
      if (event.target === this.cy) listener.picked(null);
      else if (event.target.isNode()) listener.picked(event.target.data("place") as number);
    });
    this.cy.on("mouseover", "node", (event) => listener.over(event.target.data("place") as number));
    this.cy.on("mouseout", "node", () => listener.over(null));
    this.cy.on("viewport", this.moved);
    this.cy.on("resize", () => this.fit());
    this.dark.addEventListener("change", this.restyle);
  }

  /** Show these nodes there, all edges among them held. */
  show({ nodes, edges }: Neighbourhood, points: Point[]): void {
    const before = this.nodes.length;
    this.cy.batch(() => {
      this.cy.elements().remove();
      const drawn = Math.min(edges.similarity.length, MOST_EDGES);
      this.cy.add(
        nodes.map((_, place) => ({
          group: "nodes",
          data: { id: `${place}`, place, title: this.listener.title(place) },
          position: { ...points[place]! },
          classes: place === 0 ? "query" : "",
        })),
      );
      this.cy.add(
        Array.from({ length: drawn }, (_, edge) => ({
          group: "edges",
          data: {
            id: `e${edge}`,
            source: `${edges.source[edge]}`,
            target: `${edges.target[edge]}`,
            similarity: edges.similarity[edge],
          },
        })),
      );
      this.nodes = this.cy.nodes().toArray() as NodeSingular[];
      this.edges = this.cy.edges().toArray() as EdgeSingular[];
      this.held = this.edges.length;
    });
    if (nodes.length !== before) this.fit();
    this.moved();
  }

  /** Let only the first so many edges hold; nodes of no component fade. */
  cut(edges: number, component: Int32Array): void {
    const held = Math.min(edges, this.edges.length);
    this.cy.batch(() => {
      for (let edge = this.held; edge < held; edge++) this.edges[edge]!.removeClass("off");
      for (let edge = held; edge < this.held; edge++) this.edges[edge]!.addClass("off");
      this.nodes.forEach((node, place) => toggled(node, "alone", component[place] === -1 && place > 0));
    });
    this.held = held;
  }

  colour(colours: string[]): void {
    this.cy.batch(() =>
      this.nodes.forEach((node, place) => {
        if (node.data("colour") !== colours[place]) node.data("colour", colours[place]);
      }),
    );
  }

  choose(place: number | null): void {
    this.cy.batch(() => this.nodes.forEach((node, each) => toggled(node, "chosen", each === place)));
  }

  /** Bring a node into view, if it is not. */
  reveal(place: number): void {
    const node = this.nodes[place];
    if (node === undefined) return;
    const [{ x, y }, box] = [node.position(), this.cy.extent()];
    if (x < box.x1 || x > box.x2 || y < box.y1 || y > box.y2) this.cy.center(node);
  }

  /** Mark the way from place to place. */
  trace(path: number[]): void {
    this.cy.batch(() => {
      this.cy.edges(".path").remove();
      this.nodes.forEach((node, place) => toggled(node, "on-path", path.includes(place)));
      const steps = path.slice(1).map((place, step) => ({ source: `${path[step]}`, target: `${place}` }));
      this.cy.add(steps.map((data) => ({ group: "edges", data: { ...data, similarity: 1 }, classes: "path" })));
    });
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

  /** All of it, as it is drawn at this moment. */
  png(background: string): Promise<Blob> {
    return this.cy.png({ output: "blob-promise", full: true, scale: 2, bg: background, maxWidth: 8000, maxHeight: 8000 });
  }

  /** Where the nodes are now, after somebody may have dragged them. */
  points(): Point[] {
    return this.nodes.map((node) => ({ ...node.position() }));
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.dark.removeEventListener("change", this.restyle);
    this.cy.destroy();
  }

  private readonly restyle = (): void => {
    this.cy.style(style(this.cy.container()!));
  };

  private readonly moved = (): void => {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.pictures, PAUSE);
  };

  /** Where nodes are large enough, those in view get their pictures. */
  private readonly pictures = (): void => {
    const legible = this.cy.zoom() * WIDTH >= LEGIBLE;
    const box = this.cy.extent();
    this.cy.batch(() => {
      this.nodes.forEach((node, place) => {
        toggled(node, "legible", legible);
        const { x, y } = node.position();
        const inView = x > box.x1 - WIDTH && x < box.x2 + WIDTH && y > box.y1 - HEIGHT && y < box.y2 + HEIGHT;
        if (legible && inView && node.data("picture") === undefined) node.data("picture", this.listener.picture(place));
      });
    });
  };
}

/** Classes are compared first: setting one anew costs a restyling. */
function toggled(node: NodeSingular, name: string, wanted: boolean): void {
  if (node.hasClass(name) !== wanted) node.toggleClass(name, wanted);
}

function style(container: HTMLElement): StylesheetJson {
  const variables = getComputedStyle(container);
  const colour = (name: string) => variables.getPropertyValue(`--${name}`).trim();
  return [
    {
      selector: "node[colour]",
      style: {
        shape: "rectangle",
        width: WIDTH,
        height: HEIGHT,
        "background-color": "data(colour)",
        "border-width": 1,
        "border-color": colour("edge"),
      },
    },
    {
      selector: "node.legible",
      style: {
        shape: "round-rectangle",
        label: "data(title)",
        color: colour("text"),
        "font-family": "system-ui, sans-serif",
        "font-size": 10,
        "text-valign": "bottom",
        "text-margin-y": 3,
        "text-wrap": "ellipsis",
        "text-max-width": "90px",
        "text-background-color": colour("paper"),
        "text-background-opacity": 0.8,
      },
    },
    {
      selector: "node.legible[picture]",
      style: {
        "background-color": "#ffffff", // what structures are drawn for
        "background-image": "data(picture)",
        "background-fit": "contain",
        "border-width": 3,
        "border-color": "data(colour)",
      },
    },
    { selector: "node.query", style: { width: WIDTH * LARGER, height: HEIGHT * LARGER, "font-weight": "bold" } },
    { selector: "node.alone", style: { opacity: 0.2 } },
    {
      selector: "node.on-path",
      style: { opacity: 1, "underlay-color": colour("accent"), "underlay-opacity": 0.35, "underlay-padding": 6 },
    },
    {
      selector: "node.chosen",
      style: { opacity: 1, "outline-color": colour("accent"), "outline-width": 4, "outline-offset": 2, "z-index": 9 },
    },
    {
      selector: "edge",
      style: {
        "curve-style": "haystack",
        "haystack-radius": 0,
        "line-color": colour("edge"),
        width: "mapData(similarity, 0.4, 1, 0.5, 7)",
        opacity: 0.45,
      },
    },
    { selector: "edge.off", style: { display: "none" } },
    { selector: "edge.path", style: { "line-color": colour("accent"), width: 6, opacity: 1, "z-index": 8 } },
  ];
}
