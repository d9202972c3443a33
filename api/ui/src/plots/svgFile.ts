/** Properties that a standalone SVG needs as attributes, because it lacks the stylesheet of the page. */
const COPIED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "text-anchor"];
const PNG_SCALE = 2;

/**
 * Return an SVG element of the page as the text of a file.
 *
 * @param dots - SVG that is drawn below the marks, such as dots that the page draws on a canvas
 */
export function svgText(source: SVGSVGElement, dots = ""): string {
  const copy = source.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [source, copy].map((root) => [...root.querySelectorAll<SVGElement>("*")]) as [SVGElement[], SVGElement[]];
  originals.forEach((original, index) => {
    const style = getComputedStyle(original);
    for (const name of COPIED) copies[index]!.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "role", "tabindex", "aria-label"]) copies[index]!.removeAttribute(name);
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", "sans-serif");
  copy.removeAttribute("class");
  const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim();
  const background = `<rect width="100%" height="100%" fill="${paper}"/>`;
  const text = new XMLSerializer().serializeToString(copy);
  return text.replace(/<svg[^>]*>/, (tag) => `${tag}${background}${dots}`);
}

/** Render an SVG file as PNG, with two pixels for each pixel of the page. */
export async function pngOf(svg: string, width: number, height: number): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = new OffscreenCanvas(width * PNG_SCALE, height * PNG_SCALE);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return canvas.convertToBlob();
}
