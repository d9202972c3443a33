const NAME = "graphkin.key";

/**
 * The key that the API is asked with, where it asks for one. It is kept for this tab, until that is closed, and stands in
 * no address.
 */
class Key {
  /** Whether the server refused to answer without one, or with the one that is held. */
  needed = $state(false);

  get held(): string | null {
    return sessionStorage.getItem(NAME);
  }

  /** Begin anew with this one, or with none. */
  use(text: string | null): void {
    if (text === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, text);
    location.reload();
  }
}

export const key = new Key();

/** The headers of a request, and what goes with it. */
export function authorized(headers: HeadersInit | undefined): Headers {
  const all = new Headers(headers);
  if (key.held !== null) all.set("Authorization", `Bearer ${key.held}`);
  return all;
}
