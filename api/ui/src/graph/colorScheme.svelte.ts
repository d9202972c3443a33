import { MediaQuery } from "svelte/reactivity";
import type { ColorScheme } from "./color";

const darkQuery = new MediaQuery("(prefers-color-scheme: dark)");

/** Return the current color scheme of the page. */
export function colorScheme(): ColorScheme {
  return darkQuery.current ? "dark" : "light";
}
