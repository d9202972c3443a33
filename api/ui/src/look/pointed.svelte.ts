import type { Item } from "../api/replies";
import { navigation } from "../navigation.svelte";
import { exactly } from "./item";

const PAUSE = 120; // ms that the pointer rests on an item before it is enlarged

/** An item, and how similar it is to the query; null if the hierarchy has no edge between them. */
export interface Compared {
  item: Item;
  similarity: number | null;
}

/** Which item is compared with the query, in all views alike: the one pointed at, else the one that the address says. */
export class Pointed {
  private met: ReadonlyMap<string, Compared> = $state.raw(new Map());
  private hovered: Compared | null = $state.raw(null);
  private timer = 0;

  /** Null also until what the address says has been met. */
  get chosen(): Compared | null {
    return this.met.get(navigation.address.chosen ?? "") ?? null;
  }

  get item(): Compared | null {
    return this.hovered ?? this.chosen;
  }

  /** So that the address need say no more of it than its structure. */
  meet(hit: Compared): void {
    this.met = new Map(this.met).set(exactly(hit.item), hit);
  }

  at(hit: Compared): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.hovered = hit), PAUSE);
  }

  away(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.hovered = null), PAUSE);
  }

  /** Or, if it is chosen already, none. */
  choose(hit: Compared): void {
    const text = exactly(hit.item);
    this.meet(hit);
    navigation.go({ chosen: text === navigation.address.chosen ? null : text });
  }

  clear(): void {
    clearTimeout(this.timer);
    this.hovered = null;
    navigation.go({ chosen: null });
  }

  /** For the buttons that items are chosen by: arrow keys move between them. */
  step(event: KeyboardEvent): void {
    const forward = ["ArrowDown", "ArrowRight"].includes(event.key);
    if (!forward && !["ArrowUp", "ArrowLeft"].includes(event.key)) return;
    const buttons = [...document.querySelectorAll<HTMLElement>("button.item")];
    const here = buttons.indexOf(event.currentTarget as HTMLElement);
    buttons[here + (forward ? 1 : -1)]?.focus();
    event.preventDefault();
  }
}
