import { SvelteSet } from "svelte/reactivity";

/** Retry functions of the depictions that failed for a temporary reason. */
export const retries = new SvelteSet<() => void>();
