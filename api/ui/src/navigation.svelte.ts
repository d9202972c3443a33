import { type Address, alike, changed, format, parse } from "./address";

/** The address of the page. Going somewhere can be undone with the browser's back button. */
class Navigation {
  address: Address = $state.raw(parse(location.search));

  constructor() {
    addEventListener("popstate", () => {
      this.address = alike(parse(location.search), this.address);
    });
  }

  go(change: Partial<Address>): void {
    this.move(changed(this.address, change), "pushState");
  }

  /** Say the same place better, or follow a control that moves continuously: nothing to go back to. */
  amend(change: Partial<Address>): void {
    this.move({ ...this.address, ...change }, "replaceState");
  }

  private move(next: Address, how: "pushState" | "replaceState"): void {
    const text = format(next);
    if (text === format(this.address)) return;
    history[how](null, "", text || location.pathname);
    this.address = next;
  }
}

export const navigation = new Navigation();
