const MARGIN = "200px";

const listeners = new WeakMap<Element, (isNear: boolean) => void>();
const observer = new IntersectionObserver(
  (entries) => entries.forEach(({ target, isIntersecting }) => listeners.get(target)?.(isIntersecting)),
  { rootMargin: MARGIN, scrollMargin: MARGIN }, // The margins apply to the page and to scrollable elements in it.
);

/**
 * Report when an element enters the viewport, or comes near it, and when it leaves.
 *
 * @returns a function that stops observing.
 */
export function observeVisibility(element: Element, onChange: (isNear: boolean) => void): () => void {
  listeners.set(element, onChange);
  observer.observe(element);
  return () => observer.unobserve(element);
}
