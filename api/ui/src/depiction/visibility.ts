const MARGIN = "200px";

const listeners = new WeakMap<Element, (isNear: boolean) => void>();
const observer = new IntersectionObserver(
  (entries) => entries.forEach(({ target, isIntersecting }) => listeners.get(target)?.(isIntersecting)),
  { rootMargin: MARGIN, scrollMargin: MARGIN }, // of the page, and of what scrolls in it
);

/** Says when an element comes into view, or nearly, and when it leaves it. Gives what ends that. */
export function observeVisibility(element: Element, onChange: (isNear: boolean) => void): () => void {
  listeners.set(element, onChange);
  observer.observe(element);
  return () => observer.unobserve(element);
}
