const STEP = 10; // rows that come and go together: most frames of a scroll change none
const AHEAD = 30; // rows, so that short tables are there whole

/** Which rows of a long table, all of one height, are there: those in view, and some around them. */
export class Rows {
  first = $state(0);
  /** The one after the last. */
  stop = $state(0);

  private box: HTMLElement | null = null;

  /** `height`: of each row, in pixels; `count`: of all rows there are. */
  constructor(
    private readonly height: number,
    private readonly count: () => number,
  ) {
    $effect.pre(() => this.changed());
  }

  /** The element that scrolls; what it gives lets go of it. */
  scrolledBy(box: HTMLElement): () => void {
    this.box = box;
    const changed = () => this.changed();
    const resized = new ResizeObserver(changed);
    resized.observe(box);
    box.addEventListener("scroll", changed, { passive: true });
    return () => {
      resized.disconnect();
      box.removeEventListener("scroll", changed);
      this.box = null;
    };
  }

  /** Has a row there, and those around it: what gets the focus is scrolled to by the browser. */
  include(place: number): void {
    if (place < this.first || place >= this.stop) this.around(place, place);
  }

  private changed(): void {
    const begin = (this.box?.scrollTop ?? 0) / this.height;
    this.around(begin, begin + (this.box?.clientHeight ?? 0) / this.height);
  }

  private around(begin: number, end: number): void {
    const count = this.count();
    const first = Math.floor(begin / STEP) * STEP - AHEAD;
    this.first = Math.min(Math.max(0, first), Math.floor(count / STEP) * STEP);
    this.stop = Math.min(count, Math.ceil((end + 1) / STEP) * STEP + AHEAD);
  }
}
