import { navigation } from "../navigation.svelte";
import { type ComparedItem, exactAddressOf } from "./item";

const HOVER_PAUSE = 120; // ms that the pointer rests on an item before it is enlarged

/**
 * Which item is compared with the query, in all views alike: the one pointed at, else the one that the address says.
 * Where views list the query too, it is null: to choose it is to choose none.
 */
export class ItemSelection {
  private knownItems: ReadonlyMap<string, ComparedItem> = $state.raw(new Map());
  private hoveredItem: ComparedItem | null = $state.raw(null);
  private focusedItem: ComparedItem | null = $state.raw(null);
  private timer = 0;

  /** Null also until what the address says has been met. */
  readonly selectedItem: ComparedItem | null = $derived(this.knownItems.get(navigation.address.selectedItem ?? "") ?? null);
  readonly comparedItem: ComparedItem | null = $derived(this.hoveredItem ?? this.selectedItem);

  isSelected(hit: ComparedItem | null): boolean {
    return hit !== null && hit.item.id === this.selectedItem?.item.id;
  }

  /** So that the address need say no more of it than its structure. */
  remember(hit: ComparedItem): void {
    this.knownItems = new Map(this.knownItems).set(exactAddressOf(hit.item), hit);
  }

  /** Null where it is no longer at any. */
  hover(hit: ComparedItem | null): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.hoveredItem = hit), HOVER_PAUSE);
  }

  /** Or, if it is chosen already, none. */
  toggle(hit: ComparedItem): void {
    const text = exactAddressOf(hit.item);
    this.remember(hit);
    this.focusedItem = hit;
    navigation.go({ selectedItem: text === navigation.address.selectedItem ? null : text });
  }

  clear(): void {
    clearTimeout(this.timer);
    this.hoveredItem = null;
    navigation.go({ selectedItem: null });
  }

  /** For the row, tile or entry of an item. */
  hoverHandlers(hit: ComparedItem | null) {
    return { onpointerenter: () => this.hover(hit), onpointerleave: () => this.hover(null) };
  }

  /** For the `<button class="item">` that an item is chosen by. */
  buttonProps(hit: ComparedItem | null) {
    return {
      "aria-pressed": hit && this.isSelected(hit),
      onclick: () => (hit === null ? this.clear() : this.toggle(hit)),
      onfocus: () => {
        this.focusedItem = hit;
        this.hover(hit);
      },
      onblur: () => this.hover(null),
      onkeydown: focusByKey,
    };
  }

  /** The one row of a list that the Tab key comes to: where the focus was last, else the first. Keys go on from it. */
  tabStop(hits: (ComparedItem | null)[]): number {
    return Math.max(0, hits.findIndex((hit) => hit?.item.id === this.focusedItem?.item.id));
  }
}

/** Arrow keys, Home and End go from item to item of a list. */
export function focusByKey(event: KeyboardEvent): void {
  const buttonProps = event.currentTarget as HTMLElement;
  const buttons = [...(buttonProps.closest("ul")?.querySelectorAll<HTMLElement>(".item") ?? [])];
  const target = indexForKey(event, buttons.indexOf(buttonProps), buttons.length);
  if (target !== null) buttons[target]?.focus();
}

/** The place of a list, from `here`, that a key goes to, which is then used up; null for other keys. */
export function indexForKey(event: KeyboardEvent, current: number, length: number): number | null {
  const targets: Record<string, number> = {
    ArrowDown: current + 1,
    ArrowRight: current + 1,
    ArrowUp: current - 1,
    ArrowLeft: current - 1,
    Home: 0,
    End: length - 1,
  };
  const target = targets[event.key];
  if (target === undefined || event.altKey || event.ctrlKey || event.metaKey) return null;
  event.preventDefault();
  return Math.min(Math.max(target, 0), length - 1);
}
