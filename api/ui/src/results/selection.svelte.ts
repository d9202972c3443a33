import { navigation } from "../navigation.svelte";
import { type ComparedItem, exactAddressOf } from "./item";

const HOVER_PAUSE = 120; // milliseconds that the pointer must rest on an item

/**
 * The item compared with the query in all views: the item under the pointer or with the focus, else the selected item
 * of the address.
 *
 * Views that list the query itself pass null for it. Its button clears the selection.
 */
export class ItemSelection {
  private knownItems: ReadonlyMap<string, ComparedItem> = $state.raw(new Map());
  private hoveredItem: ComparedItem | null = $state.raw(null);
  private focusedItem: ComparedItem | null = $state.raw(null);
  private timer = 0;

  /** The selected item; null if there is none, or while only the address knows it. */
  readonly selectedItem: ComparedItem | null = $derived(this.knownItems.get(navigation.address.selectedItem ?? "") ?? null);
  readonly comparedItem: ComparedItem | null = $derived(this.hoveredItem ?? this.selectedItem);

  isSelected(hit: ComparedItem | null): boolean {
    return hit !== null && hit.item.id === this.selectedItem?.item.id;
  }

  /** Make an item known, so that the address can refer to it by its structure alone. */
  remember(hit: ComparedItem): void {
    this.knownItems = new Map(this.knownItems).set(exactAddressOf(hit.item), hit);
  }

  /** Compare an item while the pointer rests on it. Null ends that. */
  hover(hit: ComparedItem | null): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.hoveredItem = hit), HOVER_PAUSE);
  }

  /** Select an item, or clear the selection if the item is selected already. */
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

  /** Return the pointer handlers for the row, tile or entry of an item. */
  hoverHandlers(hit: ComparedItem | null) {
    return { onpointerenter: () => this.hover(hit), onpointerleave: () => this.hover(null) };
  }

  /** Return the attributes of the `<button class="item">` that selects an item. */
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

  /**
   * Return the index of the one row that the Tab key reaches: the row that had the focus last, else the first. Arrow
   * keys move on from there.
   */
  tabStop(hits: (ComparedItem | null)[]): number {
    return Math.max(0, hits.findIndex((hit) => hit?.item.id === this.focusedItem?.item.id));
  }
}

/** Move the focus within a list by the arrow keys, Home and End. */
export function focusByKey(event: KeyboardEvent): void {
  const buttonProps = event.currentTarget as HTMLElement;
  const buttons = [...(buttonProps.closest("ul")?.querySelectorAll<HTMLElement>(".item") ?? [])];
  const target = indexForKey(event, buttons.indexOf(buttonProps), buttons.length);
  if (target !== null) buttons[target]?.focus();
}

/** Return the index that a key moves to from `current`, and prevent the key's default action; null for other keys. */
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
