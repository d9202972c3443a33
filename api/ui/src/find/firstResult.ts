const FIRST_RESULT = '#results section[aria-busy="false"] .item[tabindex="0"]';
const PATIENCE = 20_000; // milliseconds until the page stops waiting for results

/**
 * Move the focus to the first result as soon as there is one, so that a search needs no further key to reach it.
 *
 * Any gesture of the user before that leaves the focus where the user puts it.
 */
export function focusFirstResult(): void {
  const stop = new AbortController();
  const observer = new MutationObserver(() => {
    const result = document.querySelector<HTMLElement>(FIRST_RESULT);
    if (result === null) return;
    result.focus({ preventScroll: true });
    stop.abort();
  });
  stop.signal.addEventListener("abort", () => observer.disconnect());
  observer.observe(document.getElementById("results")!, { childList: true, subtree: true });
  for (const gesture of ["keydown", "pointerdown"]) addEventListener(gesture, () => stop.abort(), { signal: stop.signal, capture: true });
  setTimeout(() => stop.abort(), PATIENCE);
}
