import { type Address, reuseLists, withChange, showsOtherSubject, format, parse, showsOtherList } from "./address";
import { unreadableParameters } from "./permalink";

/** The address of the page. The browser's back button undoes each change made by `go`. */
class Navigation {
  address: Address = $state.raw(parse(location.search + location.hash));

  /** Sentences about parts of the opened address that the page cannot read. Empty after the next navigation. */
  unreadableParameters: string[] = $state.raw(unreadableParameters(location.search, location.hash));

  /** Scroll position to restore while the content loads bit by bit; null once it is restored or the user scrolls. */
  private scrollTop: number | null = null;
  /** The element that scrolls: a long list if there is one, else the page. */
  private scroller: Element = document.documentElement;
  private readonly resizeObserver = new ResizeObserver(() => this.restoreScroll());

  constructor() {
    history.scrollRestoration = "manual";
    this.scrollTop = savedScrollTop(history.state);
    addEventListener("popstate", ({ state }) => {
      this.address = reuseLists(parse(location.search + location.hash), this.address);
      this.unreadableParameters = unreadableParameters(location.search, location.hash);
      this.scrollTop = savedScrollTop(state);
      scrollTo(0, 0);
      this.scroller.scrollTop = this.scrollTop ?? 0;
    });
    const saveScroll = () => this.scrollTop === null && history.replaceState({ depth: this.scroller.scrollTop }, "");
    addEventListener("scrollend", saveScroll, { capture: true });
    for (const gesture of ["pointerdown", "wheel", "keydown"])
      addEventListener(gesture, () => (this.scrollTop = null), { passive: true, capture: true });
    this.resizeObserver.observe(document.body);
  }

  /**
   * Register a list that scrolls on its own.
   *
   * @returns a function that unregisters it.
   */
  attachScroller(scroller: Element, content: Element): () => void {
    this.scroller = scroller;
    this.resizeObserver.observe(content);
    return () => {
      this.resizeObserver.unobserve(content);
      if (this.scroller === scroller) this.scroller = document.documentElement;
    };
  }

  /** Change the address with a new entry in the browser's history. */
  go(change: Partial<Address>): void {
    const previous = this.address;
    this.unreadableParameters = [];
    this.replaceAddress(withChange(previous, change), "pushState");
    if (showsOtherSubject(previous, this.address)) scrollTo(0, 0);
    if (showsOtherList(previous, this.address) && this.scroller !== document.documentElement) this.scroller.scrollTop = 0;
  }

  /** Change the address without a new entry in the browser's history. */
  amend(change: Partial<Address>): void {
    this.replaceAddress({ ...this.address, ...change }, "replaceState");
  }

  private replaceAddress(next: Address, method: "pushState" | "replaceState"): void {
    const text = format(next);
    if (text === format(this.address)) return;
    history[method](history.state, "", text.startsWith("?") ? text : location.pathname + text);
    this.address = next;
  }

  private restoreScroll(): void {
    if (this.scrollTop !== null) this.scroller.scrollTop = this.scrollTop;
  }
}

/** Read the scroll position from the state of a history entry, where it is called `depth`. */
function savedScrollTop(state: unknown): number | null {
  return (state as { depth: number } | null)?.depth || null;
}

/** The only object that changes the address of the page. */
export const navigation = new Navigation();
