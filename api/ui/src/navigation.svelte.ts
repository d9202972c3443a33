import { type Address, alike, changed, elsewhere, format, parse } from "./address";

/** The address of the page. Going somewhere can be undone with the browser's back button. */
class Navigation {
  address: Address = $state.raw(parse(location.search));

  /** How far down one was where one came back to, until one moves: what was there is loaded bit by bit. */
  private depth: number | null = null;

  constructor() {
    history.scrollRestoration = "manual";
    this.depth = depthOf(history.state);
    addEventListener("popstate", ({ state }) => {
      this.address = alike(parse(location.search), this.address);
      this.depth = depthOf(state);
      scrollTo(0, this.depth ?? 0);
    });
    addEventListener("scrollend", () => this.depth === null && history.replaceState({ depth: scrollY }, ""));
    for (const gesture of ["pointerdown", "wheel", "keydown"])
      addEventListener(gesture, () => (this.depth = null), { passive: true, capture: true });
    new ResizeObserver(() => this.descend()).observe(document.body);
  }

  go(change: Partial<Address>): void {
    const before = this.address;
    this.move(changed(before, change), "pushState");
    if (elsewhere(before, this.address)) scrollTo(0, 0);
  }

  /** Say the same place better: nothing to go back to. */
  amend(change: Partial<Address>): void {
    this.move({ ...this.address, ...change }, "replaceState");
  }

  private move(next: Address, how: "pushState" | "replaceState"): void {
    const text = format(next);
    if (text === format(this.address)) return;
    history[how](history.state, "", text || location.pathname);
    this.address = next;
  }

  private descend(): void {
    if (this.depth !== null) scrollTo(0, this.depth);
  }
}

function depthOf(state: unknown): number | null {
  return (state as { depth: number } | null)?.depth || null;
}

export const navigation = new Navigation();
