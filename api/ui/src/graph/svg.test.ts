import { describe, expect, it } from "vitest";
import { type DrawnNode, graphSvg } from "./svg";

const node = (x: number, overrides: Partial<DrawnNode> = {}): DrawnNode => ({
  x,
  y: 0,
  width: 72,
  height: 54,
  title: "a",
  color: "#0072b2",
  isFaded: false,
  depictionSvg: "",
  ...overrides,
});

const PALETTE = { background: "#ffffff", text: "#171a1d", edge: "#808a94" };
const CAPTION = { lines: ["a & b", "≥ 0.40"], scale: { ends: ["1.0", "2.5"] as [string, string], stops: ["#440154", "#22a884"] } };
const svg = (nodes: DrawnNode[], edges: Parameters<typeof graphSvg>[1]) => graphSvg(nodes, edges, CAPTION, PALETTE);

describe("the SVG of a graph", () => {
  it("contains all nodes and edges, with a margin", () => {
    const text = svg([node(0), node(100)], [[0, 1, 0.5]]);
    expect(text).toContain('viewBox="-76 -67 252 198"');
    expect(text).toContain('<line x1="0" y1="0" x2="100" y2="0" stroke-width="1.3"/>');
  });

  it("has a caption that explains the graph and its colors", () => {
    const text = svg([node(0), node(100)], []);
    expect(graphSvg([node(0)], [], { lines: ["C".repeat(50)], scale: null }, PALETTE).match(/>C+</g)).toHaveLength(3);
    expect(text).toContain('<svg x="-56" y="67" xmlns');
    for (const part of [">a &amp; b<", ">≥ 0.40<", ">1.0 to 2.5<", 'fill="#440154"', 'fill="#22a884"']) expect(text).toContain(part);
  });

  it("outlines a node without a value", () => {
    expect(svg([node(0, { color: null })], [])).toContain('fill="#ffffff" stroke="#808a94" stroke-width="1"/>');
    expect(svg([node(0)], [])).toContain('fill="#bfdcec" stroke="#0072b2" stroke-width="3"/>');
  });

  it("embeds depictions as drawings", () => {
    const depictionSvg = "<?xml version='1.0'?>\n<svg width='9px' viewBox='0 0 200 150'><path d='M 0,0'/></svg>\n";
    expect(svg([node(0, { depictionSvg })], [])).toContain(
      `<svg x="-36" y="-27" width="72" height="54" viewBox="0 0 200 150" fill="#000000"><path d='M 0,0'/></svg>`,
    );
  });

  it("escapes titles and fades nodes", () => {
    const text = svg([node(0, { title: "<a\u0001&b>\ufffe", isFaded: true })], []);
    expect(text).toContain(">&lt;a&amp;b&gt;</text>");
    expect(text).toContain('<g opacity="0.2">');
  });
});
