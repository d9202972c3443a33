import { key } from "../api/key.svelte";
import { loadSvg, toDataUrl } from "./svgCache";

/** Shows a picture in a tab of its own. The link does that, but where it takes a key, which browsers do not send. */
export function openInNewTab(event: MouseEvent, url: string, alt: string): void {
  if (key.value === null) return;
  event.preventDefault();
  const tab = open("about:blank"); // now: later it would be taken for what nobody asked for
  if (tab === null) return;
  void loadSvg(url, new AbortController().signal, true).then((svg) => {
    const image = tab.document.createElement("img");
    image.src = toDataUrl(svg);
    image.alt = tab.document.title = alt;
    tab.document.body.append(image);
  });
}
