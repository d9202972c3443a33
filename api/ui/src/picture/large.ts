import { key } from "../api/key.svelte";
import { drawing, inline } from "./drawing";

/** Shows a picture in a tab of its own. The link does that, but where it takes a key, which browsers do not send. */
export function large(event: MouseEvent, address: string, alt: string): void {
  if (key.held === null) return;
  event.preventDefault();
  const tab = open("about:blank"); // now: later it would be taken for what nobody asked for
  if (tab === null) return;
  void drawing(address, new AbortController().signal, true).then((svg) => {
    const image = tab.document.createElement("img");
    image.src = inline(svg);
    image.alt = tab.document.title = alt;
    tab.document.body.append(image);
  });
}
