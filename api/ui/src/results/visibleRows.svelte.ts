const STEP = 10; // Rows are added and removed in steps, so that most frames of a scroll change none.
const OVERSCAN = 30; // Rows beyond the viewport are present too, so short tables are complete.

/**
 * The range of rows of a long table that are in the document: the visible ones and some around them. All rows have
 * the same height.
 */
export class VisibleRows {
  start = $state(0);
  /** Index after the last row. */
  end = $state(0);

  private scroller: HTMLElement | null = null;

  /**
   * @param height - returns the height of each row, in pixels.
   * @param count - returns the number of all rows.
   */
  constructor(
    private readonly height: () => number,
    private readonly count: () => number,
  ) {
    $effect.pre(() => this.update());
  }

  /**
   * Follow the scroll position of an element.
   *
   * @returns a function that stops following it.
   */
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

  /** Extend the range to a row that is about to receive the focus. The browser then scrolls to it. */
  include(index: number): void {
    if (index < this.start || index >= this.end) this.setRange(index, index);
  }

  private update(): void {
    const height = this.height();
    const firstVisible = (this.scroller?.scrollTop ?? 0) / height;
    this.setRange(firstVisible, firstVisible + (this.scroller?.clientHeight ?? 0) / height);
  }

  private setRange(firstVisible: number, lastVisible: number): void {
    const count = this.count();
    const start = Math.floor(firstVisible / STEP) * STEP - OVERSCAN;
    this.start = Math.min(Math.max(0, start), Math.floor(count / STEP) * STEP);
    this.end = Math.min(count, Math.ceil((lastVisible + 1) / STEP) * STEP + OVERSCAN);
  }
}
