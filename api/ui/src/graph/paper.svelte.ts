import { MediaQuery } from "svelte/reactivity";
import type { Paper } from "./colour";

const dark = new MediaQuery("(prefers-color-scheme: dark)");

/** What the page is at this moment. */
export function paper(): Paper {
  return dark.current ? "dark" : "light";
}
