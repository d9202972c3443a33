import { navigation } from "../navigation.svelte";
import { type ComparedItem, exactly } from "./item";

const PAUSE = 120; // ms that the pointer rests on an item before it is enlarged

/**
 * Which item is compared with the query, in all views alike: the one pointed at, else the one that the address says.
 * Where views list the query too, it is null: to choose it is to choose none.
 */
export class Pointed {
  private met: ReadonlyMap<string, ComparedItem> = $state.raw(new Map());
  private hovered: ComparedItem | null = $state.raw(null);
  private last: ComparedItem | null = $state.raw(null);
  private timer = 0;

  /** Null also until what the address says has been met. */
  readonly chosen: ComparedItem | null = $derived(this.met.get(navigation.address.chosen ?? "") ?? null);
  readonly item: ComparedItem | null = $derived(this.hovered ?? this.chosen);

  is(hit: ComparedItem | null): boolean {
    return hit !== null && hit.item.id === this.chosen?.item.id;
  }

  /** So that the address need say no more of it than its structure. */
  meet(hit: ComparedItem): void {
    this.met = new Map(this.met).set(exactly(hit.item), hit);
  }

  /** Null where it is no longer at any. */
  at(hit: ComparedItem | null): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.hovered = hit), PAUSE);
  }

  /** Or, if it is chosen already, none. */
  choose(hit: ComparedItem): void {
    const text = exactly(hit.item);
    this.meet(hit);
    this.last = hit;
    navigation.go({ chosen: text === navigation.address.chosen ? null : text });
  }

  clear(): void {
    clearTimeout(this.timer);
    this.hovered = null;
    navigation.go({ chosen: null });
  }

  /** For the row, tile or entry of an item. */
  hover(hit: ComparedItem | null) {
    return { onpointerenter: () => this.at(hit), onpointerleave: () => this.at(null) };
  }

  /** For the `<button class="item">` that an item is chosen by. */
  button(hit: ComparedItem | null) {
    return {
      "aria-pressed": hit && this.is(hit),
      onclick: () => (hit === null ? this.clear() : this.choose(hit)),
      onfocus: () => {
        this.last = hit;
        this.at(hit);
      },
      onblur: () => this.at(null),
      onkeydown: step,
    };
  }

  /** The one row of a list that the Tab key comes to: where the focus was last, else the first. Keys go on from it. */
  stop(hits: (ComparedItem | null)[]): number {
    return Math.max(0, hits.findIndex((hit) => hit?.item.id === this.last?.item.id));
  }
}

/** Arrow keys, Home and End go from item to item of a list. */
export function step(event: KeyboardEvent): void {
  const button = event.currentTarget as HTMLElement;
  const all = [...(button.closest("ul")?.querySelectorAll<HTMLElement>(".item") ?? [])];
  const place = stepped(event, all.indexOf(button), all.length);
  if (place !== null) all[place]?.focus();
}

/** The place of a list, from `here`, that a key goes to, which is then used up; null for other keys. */
export function stepped(event: KeyboardEvent, here: number, length: number): number | null {
  const places: Record<string, number> = {
    ArrowDown: here + 1,
    ArrowRight: here + 1,
    ArrowUp: here - 1,
    ArrowLeft: here - 1,
    Home: 0,
    End: length - 1,
  };
  const place = places[event.key];
  if (place === undefined || event.altKey || event.ctrlKey || event.metaKey) return null;
  event.preventDefault();
  return Math.min(Math.max(place, 0), length - 1);
}
