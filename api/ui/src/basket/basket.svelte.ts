import type { Client } from "../api/client";

export const MAX_ITEMS = 10_000; // as many as the API is asked about at once

/** What somebody collects of one generation, in the order in which it came; this browser keeps it. */
class Basket {
  ids: readonly number[] = $state.raw([]);
  /** Why the last did not come in. */
  refusal: string | null = $state(null);

  private key = "";
  private generation: string | null = null;
  private readonly idSet = $derived(new Set(this.ids));

  /** The one of this generation, as it was left. */
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

  /** All of them, or if there are too many none. */
  add(ids: readonly number[]): void {
    const all = [...new Set([...this.ids, ...ids])];
    const formatCount = (number: number) => number.toLocaleString("en");
    this.refusal = all.length > MAX_ITEMS ? `A basket holds ${formatCount(MAX_ITEMS)} items, and these would be ${formatCount(all.length)}.` : null;
    if (this.refusal === null) this.save(all);
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
      // a browser that keeps nothing forgets it with the page
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

export const basket = new Basket();
