import type { Item } from "../api/replies";

const PAUSE = 120; // ms that the pointer rests on an item before it is enlarged

/** An item, and how similar it is to the query; null if the hierarchy has no edge between them. */
export interface Compared {
  item: Item;
  similarity: number | null;
}

/** Which item is compared with the query, in all views alike: the one pointed at, else the one chosen. */
export class Pointed {
  chosen: Compared | null = $state.raw(null);
  private hovered: Compared | null = $state.raw(null);
  private timer = 0;

  get item(): Compared | null {
    return this.hovered ?? this.chosen;
  }

  at(hit: Compared): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.hovered = hit), PAUSE);
  }

  away(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.hovered = null), PAUSE);
  }

  choose(hit: Compared): void {
    this.chosen = hit.item.id === this.chosen?.item.id ? null : hit;
  }

  clear(): void {
    clearTimeout(this.timer);
    this.chosen = null;
    this.hovered = null;
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
