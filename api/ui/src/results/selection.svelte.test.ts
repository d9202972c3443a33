import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Address, DEFAULT_ADDRESS } from "../address";
import { navigation } from "../navigation.svelte";
import type { ComparedItem } from "./item";
import { ItemSelection } from "./selection.svelte";

/** Unit tests run without a browser, so the navigation is replaced by a plain state. */
vi.mock("../navigation.svelte", () => {
  class Navigation {
    address: Address = $state.raw(DEFAULT_ADDRESS);
    go(change: Partial<Address>) {
      this.address = { ...this.address, ...change };
    }
  }
  return { navigation: new Navigation() };
});

function hitOf(id: number, smiles: string | null): ComparedItem {
  const item = { id, smiles, names: [], inchikey: null, properties: {}, degree: 0, dropped: null };
  return { item, similarity: 0.5 };
}

const ETHANOL = hitOf(1, "CCO");
const GRAPH = hitOf(2, null);

describe("the item selection", () => {
  let selection: ItemSelection;
  let destroy: () => void;

  beforeEach(() => {
    vi.useFakeTimers();
    navigation.go({ selectedItem: null });
    destroy = $effect.root(() => {
      selection = new ItemSelection();
    });
    flushSync();
  });
  afterEach(() => {
    destroy();
    vi.useRealTimers();
  });

  it("is toggled by the item's button", () => {
    selection.buttonProps(ETHANOL).onclick();
    expect([navigation.address.selectedItem, selection.selectedItem, selection.comparedItem]).toEqual(["CCO", ETHANOL, ETHANOL]);
    expect([selection.isSelected(ETHANOL), selection.isSelected(GRAPH), selection.isSelected(null)]).toEqual([true, false, false]);
    expect(selection.buttonProps(ETHANOL)["aria-pressed"]).toBe(true);
    selection.buttonProps(ETHANOL).onclick();
    expect([navigation.address.selectedItem, selection.selectedItem]).toEqual([null, null]);
    expect(selection.buttonProps(ETHANOL)["aria-pressed"]).toBe(false);
  });

  it("is written as an id for an item without a structure", () => {
    selection.toggle(GRAPH);
    expect([navigation.address.selectedItem, selection.selectedItem]).toEqual(["#2", GRAPH]);
  });

  it("of the address takes effect once the item is known", () => {
    navigation.go({ selectedItem: "CCO" });
    expect(selection.selectedItem).toBeNull();
    selection.remember(hitOf(1, "CCO"));
    expect(selection.selectedItem).toEqual(ETHANOL);
  });

  it("gives way to the item under the resting pointer, and returns after it leaves", () => {
    selection.toggle(ETHANOL);
    selection.hoverHandlers(GRAPH).onpointerenter();
    expect(selection.comparedItem).toEqual(ETHANOL);
    vi.runAllTimers();
    expect([selection.comparedItem, selection.selectedItem]).toEqual([GRAPH, ETHANOL]);
    selection.hoverHandlers(GRAPH).onpointerleave();
    vi.runAllTimers();
    expect(selection.comparedItem).toEqual(ETHANOL);
  });

  it("ignores an item that the pointer only passes", () => {
    selection.hoverHandlers(GRAPH).onpointerenter();
    selection.hoverHandlers(GRAPH).onpointerleave();
    selection.hoverHandlers(ETHANOL).onpointerenter();
    vi.runAllTimers();
    expect(selection.comparedItem).toEqual(ETHANOL);
  });

  it("compares the focused item", () => {
    selection.buttonProps(ETHANOL).onfocus();
    vi.runAllTimers();
    expect([selection.comparedItem, selection.selectedItem]).toEqual([ETHANOL, null]);
    selection.buttonProps(ETHANOL).onblur();
    vi.runAllTimers();
    expect(selection.comparedItem).toBeNull();
  });

  it("is cleared by the button of the query", () => {
    selection.toggle(ETHANOL);
    selection.buttonProps(null).onclick();
    expect([navigation.address.selectedItem, selection.comparedItem]).toEqual([null, null]);
    expect(selection.buttonProps(null)["aria-pressed"]).toBeNull();
  });

  it("puts the tab stop on the item that was focused or selected last, else on the first", () => {
    expect([selection.tabStop([]), selection.tabStop([ETHANOL, GRAPH]), selection.tabStop([null, ETHANOL])]).toEqual([0, 0, 0]);
    selection.buttonProps(GRAPH).onfocus();
    expect(selection.tabStop([ETHANOL, hitOf(2, null)])).toBe(1);
    expect(selection.tabStop([null, ETHANOL])).toBe(0);
    selection.toggle(ETHANOL);
    expect(selection.tabStop([null, GRAPH, ETHANOL])).toBe(2);
    selection.buttonProps(null).onfocus();
    expect(selection.tabStop([null, GRAPH, ETHANOL])).toBe(0);
  });
});
