import { createContext } from "svelte";
import type { Kind } from "../api/replies";

/** Get and set the function that returns the kind of items of the open collection; null while none is open. */
export const [getKind, setKind] = createContext<() => Kind | null>();
