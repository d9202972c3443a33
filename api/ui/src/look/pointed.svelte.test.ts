import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Address, START } from "../address";
import { navigation } from "../navigation.svelte";
import type { ComparedItem } from "./item";
import { Pointed } from "./pointed.svelte";

/** As in a browser, which units have none of. */
vi.mock("../navigation.svelte", () => {
  class Navigation {
    address: Address = $state.raw(START);
    go(change: Partial<Address>) {
      this.address = { ...this.address, ...change };
    }
  }
  return { navigation: new Navigation() };
});

function compared(id: number, smiles: string | null): ComparedItem {
  const item = { id, smiles, names: [], inchikey: null, properties: {}, degree: 0, dropped: null };
  return { item, similarity: 0.5 };
}

const ETHANOL = compared(1, "CCO");
const GRAPH = compared(2, null);

describe("an item", () => {
  let pointed: Pointed;
  let end: () => void;

  beforeEach(() => {
    vi.useFakeTimers();
    navigation.go({ chosen: null });
    end = $effect.root(() => {
      pointed = new Pointed();
    });
    flushSync();
  });
  afterEach(() => {
    end();
    vi.useRealTimers();
  });

  it("is chosen by its button, and again it is not", () => {
    pointed.button(ETHANOL).onclick();
    expect([navigation.address.chosen, pointed.chosen, pointed.item]).toEqual(["CCO", ETHANOL, ETHANOL]);
    expect([pointed.is(ETHANOL), pointed.is(GRAPH), pointed.is(null)]).toEqual([true, false, false]);
    expect(pointed.button(ETHANOL)["aria-pressed"]).toBe(true);
    pointed.button(ETHANOL).onclick();
    expect([navigation.address.chosen, pointed.chosen]).toEqual([null, null]);
    expect(pointed.button(ETHANOL)["aria-pressed"]).toBe(false);
  });

  it("without a structure is said by id", () => {
    pointed.choose(GRAPH);
    expect([navigation.address.chosen, pointed.chosen]).toEqual(["#2", GRAPH]);
  });

  it("that the address says is chosen once it has been met", () => {
    navigation.go({ chosen: "CCO" });
    expect(pointed.chosen).toBeNull();
    pointed.meet(compared(1, "CCO"));
    expect(pointed.chosen).toEqual(ETHANOL);
  });

  it("is compared while the pointer rests on it, then what is chosen again", () => {
    pointed.choose(ETHANOL);
    pointed.hover(GRAPH).onpointerenter();
    expect(pointed.item).toEqual(ETHANOL);
    vi.runAllTimers();
    expect([pointed.item, pointed.chosen]).toEqual([GRAPH, ETHANOL]);
    pointed.hover(GRAPH).onpointerleave();
    vi.runAllTimers();
    expect(pointed.item).toEqual(ETHANOL);
  });

  it("that the pointer only passes is not compared", () => {
    pointed.hover(GRAPH).onpointerenter();
    pointed.hover(GRAPH).onpointerleave();
    pointed.hover(ETHANOL).onpointerenter();
    vi.runAllTimers();
    expect(pointed.item).toEqual(ETHANOL);
  });

  it("is compared while it has the focus", () => {
    pointed.button(ETHANOL).onfocus();
    vi.runAllTimers();
    expect([pointed.item, pointed.chosen]).toEqual([ETHANOL, null]);
    pointed.button(ETHANOL).onblur();
    vi.runAllTimers();
    expect(pointed.item).toBeNull();
  });

  it("is none where the query is chosen", () => {
    pointed.choose(ETHANOL);
    pointed.button(null).onclick();
    expect([navigation.address.chosen, pointed.item]).toEqual([null, null]);
    expect(pointed.button(null)["aria-pressed"]).toBeNull();
  });

  it("is where Tab comes to if it was in focus or chosen last; else the first is", () => {
    expect([pointed.stop([]), pointed.stop([ETHANOL, GRAPH]), pointed.stop([null, ETHANOL])]).toEqual([0, 0, 0]);
    pointed.button(GRAPH).onfocus();
    expect(pointed.stop([ETHANOL, compared(2, null)])).toBe(1);
    expect(pointed.stop([null, ETHANOL])).toBe(0);
    pointed.choose(ETHANOL);
    expect(pointed.stop([null, GRAPH, ETHANOL])).toBe(2);
    pointed.button(null).onfocus();
    expect(pointed.stop([null, GRAPH, ETHANOL])).toBe(0);
  });
});
