import type { Client } from "../api/client";

/** Largest number of items in a basket: as many ids as one API request accepts. */
export const MAX_ITEMS = 10_000;

/** Items of one generation that the user collected, in that order. The browser stores them. */
class Basket {
  ids: readonly number[] = $state.raw([]);
  /** Message if the last addition was refused; null otherwise. */
  refusal: string | null = $state(null);

  private key = "";
  private generation: string | null = null;
  private readonly idSet = $derived(new Set(this.ids));

  /** Restore the basket of a generation from the browser's storage. */
  open(client: Client): void {
    this.key = `graphkin.basket.${client.collection}`;
    this.generation = client.generation;
    this.refusal = null;
    this.ids = loadIds(this.key, this.generation);
  }

  has(id: number): boolean {
    return this.idSet.has(id);
  }

  toggle(id: number): void {
    if (this.has(id)) this.remove([id]);
    else this.add([id]);
  }

  /** Add items, or none of them if the basket would become too large. */
  add(ids: readonly number[]): void {
    const combinedIds = [...new Set([...this.ids, ...ids])];
    const formatCount = (number: number) => number.toLocaleString("en");
    this.refusal = combinedIds.length > MAX_ITEMS ? `The basket holds at most ${formatCount(MAX_ITEMS)} items. With this addition it would hold ${formatCount(combinedIds.length)}.` : null;
    if (this.refusal === null) this.save(combinedIds);
  }

  remove(ids: readonly number[]): void {
    const removedIds = new Set(ids);
    this.refusal = null;
    this.save(this.ids.filter((id) => !removedIds.has(id)));
  }

  clear(): void {
    this.refusal = null;
    this.save([]);
  }

  private save(ids: readonly number[]): void {
    this.ids = ids;
    try {
      localStorage.setItem(this.key, JSON.stringify({ generation: this.generation, ids }));
    } catch {
      // The browser refuses to store data: the basket is lost when the page is closed.
    }
  }
}

function loadIds(key: string, generation: string | null): number[] {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? "null") as { generation: string; ids: number[] } | null;
    return stored?.generation === generation ? stored!.ids : [];
  } catch {
    return [];
  }
}

/** The basket of the open generation. */
export const basket = new Basket();
