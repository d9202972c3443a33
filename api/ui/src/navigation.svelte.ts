import { type Address, alike, changed, elsewhere, format, parse, relisted } from "./address";
import { unreadable } from "./permalink";

/** The address of the page. Going somewhere can be undone with the browser's back button. */
class Navigation {
  address: Address = $state.raw(parse(location.search + location.hash));

  /** What the address that was opened says and nobody can read; nothing once one goes elsewhere. */
  unreadable: string[] = $state.raw(unreadable(location.search));

  /** How far down one was where one came back to, until one moves: what was there is loaded bit by bit. */
  private depth: number | null = null;
  /** What scrolls: a long list, where there is one, else the page. */
  private box: Element = document.documentElement;
  private readonly growth = new ResizeObserver(() => this.descend());

  constructor() {
    history.scrollRestoration = "manual";
    this.depth = depthOf(history.state);
    addEventListener("popstate", ({ state }) => {
      this.address = alike(parse(location.search + location.hash), this.address);
      this.unreadable = unreadable(location.search);
      this.depth = depthOf(state);
      scrollTo(0, 0);
      this.box.scrollTop = this.depth ?? 0;
    });
    const rested = () => this.depth === null && history.replaceState({ depth: this.box.scrollTop }, "");
    addEventListener("scrollend", rested, { capture: true });
    for (const gesture of ["pointerdown", "wheel", "keydown"])
      addEventListener(gesture, () => (this.depth = null), { passive: true, capture: true });
    this.growth.observe(document.body);
  }

  /** A list that scrolls by itself; what it gives lets go of it. */
  scrolledBy(box: Element, content: Element): () => void {
    this.box = box;
    this.growth.observe(content);
    return () => {
      this.growth.unobserve(content);
      if (this.box === box) this.box = document.documentElement;
    };
  }

  go(change: Partial<Address>): void {
    const before = this.address;
    this.unreadable = [];
    this.move(changed(before, change), "pushState");
    if (elsewhere(before, this.address)) scrollTo(0, 0);
    if (relisted(before, this.address) && this.box !== document.documentElement) this.box.scrollTop = 0;
  }

  /** Say the same place better: nothing to go back to. */
  amend(change: Partial<Address>): void {
    this.move({ ...this.address, ...change }, "replaceState");
  }

  private move(next: Address, how: "pushState" | "replaceState"): void {
    const text = format(next);
    if (text === format(this.address)) return;
    history[how](history.state, "", text.startsWith("?") ? text : location.pathname + text);
    this.address = next;
  }

  private descend(): void {
    if (this.depth !== null) this.box.scrollTop = this.depth;
  }
}

function depthOf(state: unknown): number | null {
  return (state as { depth: number } | null)?.depth || null;
}

export const navigation = new Navigation();
