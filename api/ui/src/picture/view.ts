const AHEAD = "200px";

const told = new WeakMap<Element, (near: boolean) => void>();
const observer = new IntersectionObserver(
  (entries) => entries.forEach(({ target, isIntersecting }) => told.get(target)?.(isIntersecting)),
  { rootMargin: AHEAD, scrollMargin: AHEAD }, // of the page, and of what scrolls in it
);

/** Says when an element comes into view, or nearly, and when it leaves it. Gives what ends that. */
export function watch(element: Element, tell: (near: boolean) => void): () => void {
  told.set(element, tell);
  observer.observe(element);
  return () => observer.unobserve(element);
}
