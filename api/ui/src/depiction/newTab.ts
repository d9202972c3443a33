import { key } from "../api/key.svelte";
import { loadSvg, toDataUrl } from "./svgCache";

/**
 * Show a depiction in a new tab.
 *
 * A plain link does the same unless the server requires a key, which browsers do not send for links.
 */
export function openInNewTab(event: MouseEvent, url: string, alt: string): void {
  if (key.value === null) return;
  event.preventDefault();
  const tab = open("about:blank"); // The tab must be opened now: browsers block tabs that open later than the click.
  if (tab === null) return;
  void loadSvg(url, new AbortController().signal, true).then((svg) => {
    const image = tab.document.createElement("img");
    image.src = toDataUrl(svg);
    image.alt = tab.document.title = alt;
    tab.document.body.append(image);
  });
}
