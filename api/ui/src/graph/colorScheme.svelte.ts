import { MediaQuery } from "svelte/reactivity";
import type { ColorScheme } from "./color";

const darkQuery = new MediaQuery("(prefers-color-scheme: dark)");

/** What the page is at this moment. */
export function colorScheme(): ColorScheme {
  return darkQuery.current ? "dark" : "light";
}
