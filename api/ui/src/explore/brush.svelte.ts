import type { Client } from "../api/client";

/**
 * The brushed items of the open generation: those in a rectangle or a lasso of a plot or of the map. Tables, maps,
 * graphs and plots highlight them.
 */
class Brush {
  /** Ids of the brushed items, ascending. Empty: nothing is brushed. */
  ids: readonly number[] = $state.raw([]);

  private generation: string | null = null;
  private readonly idSet = $derived(new Set(this.ids));

  /** Forget the items of another generation, in which these ids have no meaning. */
  open({ collection, generation }: Client): void {
    const key = JSON.stringify([collection, generation]);
    if (key !== this.generation) this.clear();
    this.generation = key;
  }

  has(id: number): boolean {
    return this.idSet.has(id);
  }

  /** Brush these items instead of the previous ones. */
  replace(ids: Iterable<number>): void {
    this.ids = [...new Set(ids)].sort((a, b) => a - b);
  }

  clear(): void {
    if (this.ids.length) this.ids = [];
  }
}

/** The brushed items of the open generation. */
export const brush = new Brush();
