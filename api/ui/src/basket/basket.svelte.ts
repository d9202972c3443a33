import type { Client } from "../api/client";

export const MOST = 10_000; // as many as the API is asked about at once

/** What somebody collects of one generation, in the order in which it came; this browser keeps it. */
class Basket {
  ids: readonly number[] = $state.raw([]);
  /** Why the last did not come in. */
  refusal: string | null = $state(null);

  private key = "";
  private generation: string | null = null;
  private readonly held = $derived(new Set(this.ids));

  /** The one of this generation, as it was left. */
  open(client: Client): void {
    this.key = `graphkin.basket.${client.collection}`;
    this.generation = client.generation;
    this.refusal = null;
    this.ids = kept(this.key, this.generation);
  }

  has(id: number): boolean {
    return this.held.has(id);
  }

  toggle(id: number): void {
    if (this.has(id)) this.remove([id]);
    else this.add([id]);
  }

  /** All of them, or if there are too many none. */
  add(ids: readonly number[]): void {
    const all = [...new Set([...this.ids, ...ids])];
    const count = (number: number) => number.toLocaleString("en");
    this.refusal = all.length > MOST ? `A basket holds ${count(MOST)} items, and these would be ${count(all.length)}.` : null;
    if (this.refusal === null) this.keep(all);
  }

  remove(ids: readonly number[]): void {
    const gone = new Set(ids);
    this.refusal = null;
    this.keep(this.ids.filter((id) => !gone.has(id)));
  }

  clear(): void {
    this.refusal = null;
    this.keep([]);
  }

  private keep(ids: readonly number[]): void {
    this.ids = ids;
    try {
      localStorage.setItem(this.key, JSON.stringify({ generation: this.generation, ids }));
    } catch {
      // a browser that keeps nothing forgets it with the page
    }
  }
}

function kept(key: string, generation: string | null): number[] {
  try {
    const said = JSON.parse(localStorage.getItem(key) ?? "null") as { generation: string; ids: number[] } | null;
    return said?.generation === generation ? said!.ids : [];
  } catch {
    return [];
  }
}

export const basket = new Basket();
