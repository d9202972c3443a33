import { SvelteSet } from "svelte/reactivity";

/** Pictures that did not come but may yet: what asks for each of them again. */
export const retries = new SvelteSet<() => void>();
