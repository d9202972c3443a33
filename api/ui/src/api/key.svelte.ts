const NAME = "graphkin.key";

/**
 * The API key of this browser tab. It is kept in the session storage until the tab is closed and never appears in a
 * URL.
 */
class ApiKey {
  /** Whether the server rejected a request for lack of a valid key. */
  isRequired = $state(false);

  get value(): string | null {
    return sessionStorage.getItem(NAME);
  }

  /** Store another key, or remove it, and reload the page. */
  replace(text: string | null): void {
    if (text === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, text);
    location.reload();
  }
}

/** The API key of this browser tab. */
export const key = new ApiKey();

/** Return the headers of a request with the API key added. */
export function withAuthorization(headers: HeadersInit | undefined): Headers {
  const authorizedHeaders = new Headers(headers);
  if (key.value !== null) authorizedHeaders.set("Authorization", `Bearer ${key.value}`);
  return authorizedHeaders;
}
