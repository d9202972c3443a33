import { describe, expect, it } from "vitest";
import { type Drawn, svg } from "./svg";

const node = (x: number, more: Partial<Drawn> = {}): Drawn => ({
  x,
  y: 0,
  width: 72,
  height: 54,
  title: "a",
  colour: "#0072b2",
  faded: false,
  picture: "",
  ...more,
});

describe("the graph as SVG", () => {
  it("holds everything, with a margin", () => {
    const text = svg([node(0), node(100)], [[0, 1, 0.5]]);
    expect(text).toContain('viewBox="-76 -67 252 134"');
    expect(text).toContain('<line x1="0" y1="0" x2="100" y2="0" stroke-width="1.3"/>');
  });

  it("takes pictures in as drawings", () => {
    const picture = "<?xml version='1.0'?>\n<svg width='9px' viewBox='0 0 200 150'><path d='M 0,0'/></svg>\n";
    expect(svg([node(0, { picture })], [])).toContain(
      `<svg x="-36" y="-27" width="72" height="54" viewBox="0 0 200 150"><path d='M 0,0'/></svg>`,
    );
  });

  it("escapes names, and fades", () => {
    const text = svg([node(0, { title: "<a\u0001&b>\ufffe", faded: true })], []);
    expect(text).toContain(">&lt;a&amp;b&gt;</text>");
    expect(text).toContain('<g opacity="0.2">');
  });
});
