import { type Address, withChange, format } from "./address";
import { navigation } from "./navigation.svelte";

/**
 * Return the attributes of a link to another state of the page. It has a real URL, so it can be copied or opened in a
 * new tab.
 */
export function linkTo(change: Partial<Address>): { href: string; onclick: (event: MouseEvent) => void } {
  return {
    href: `/${format(withChange(navigation.address, change))}`,
    onclick: (event) => {
      if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      navigation.go(change);
    },
  };
}
