import type { Client } from "../api/client";
import type { Item } from "../api/replies";
import type { ItemProperties } from "./columns";

const MAX_ITEMS = 1000; // as many items as the API returns at once

/** Return items with the values of computed properties among their properties. */
export async function withComputed(client: Client, items: Item[], properties: ItemProperties, signal?: AbortSignal): Promise<Item[]> {
  const columns = Object.values(properties).map(({ apiName }) => apiName);
  if (columns.length === 0) return items;
  const ids = [...new Set(items.map(({ id }) => id))];
  const valuesOf = new Map<number, Record<string, number | null>>();
  for (let start = 0; start < ids.length; start += MAX_ITEMS) {
    const page = await client.query({ ids: ids.slice(start, start + MAX_ITEMS), columns, limit: MAX_ITEMS }, signal);
    page.items.forEach(({ id, computed }) => valuesOf.set(id, computed));
  }
  return items.map((item) => {
    const values = Object.entries(properties).map(([key, { apiName }]) => [key, valuesOf.get(item.id)?.[apiName] ?? null]);
    return { ...item, properties: { ...item.properties, ...Object.fromEntries(values) } };
  });
}
