const STEP = 10; // rows that come and go together: most frames of a scroll change none
const OVERSCAN = 30; // rows, so that short tables are there whole

/** Which rows of a long table, all of one height, are there: those in view, and some around them. */
export class VisibleRows {
  start = $state(0);
  /** The one after the last. */
  end = $state(0);

  private scroller: HTMLElement | null = null;

  /** `height`: of each row, in pixels; `count`: of all rows there are. */
  constructor(
    private readonly height: number,
    private readonly count: () => number,
  ) {
    $effect.pre(() => this.update());
  }

  /** The element that scrolls; what it gives lets go of it. */
  attachScroller(scroller: HTMLElement): () => void {
    this.scroller = scroller;
    const update = () => this.update();
    const resizeObserver = new ResizeObserver(update);
    resizeObserver.observe(scroller);
    scroller.addEventListener("scroll", update, { passive: true });
    return () => {
      resizeObserver.disconnect();
      scroller.removeEventListener("scroll", update);
      this.scroller = null;
    };
  }

  /** Has a row there, and those around it: what gets the focus is scrolled to by the browser. */
  include(index: number): void {
    if (index < this.start || index >= this.end) this.setRange(index, index);
  }

  private update(): void {
    const firstVisible = (this.scroller?.scrollTop ?? 0) / this.height;
    this.setRange(firstVisible, firstVisible + (this.scroller?.clientHeight ?? 0) / this.height);
  }

  private setRange(firstVisible: number, lastVisible: number): void {
    const count = this.count();
    const start = Math.floor(firstVisible / STEP) * STEP - OVERSCAN;
    this.start = Math.min(Math.max(0, start), Math.floor(count / STEP) * STEP);
    this.end = Math.min(count, Math.ceil((lastVisible + 1) / STEP) * STEP + OVERSCAN);
  }
}
