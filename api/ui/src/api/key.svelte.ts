const NAME = "graphkin.key";

/**
 * The key that the API is asked with, where it asks for one. It is kept for this tab, until that is closed, and stands in
 * no address.
 */
class ApiKey {
  /** Whether the server refused to answer without one, or with the one that is held. */
  isRequired = $state(false);

  get value(): string | null {
    return sessionStorage.getItem(NAME);
  }

  /** Begin anew with this one, or with none. */
  replace(text: string | null): void {
    if (text === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, text);
    location.reload();
  }
}

export const key = new ApiKey();

/** The headers of a request, and what goes with it. */
export function withAuthorization(headers: HeadersInit | undefined): Headers {
  const authorizedHeaders = new Headers(headers);
  if (key.value !== null) authorizedHeaders.set("Authorization", `Bearer ${key.value}`);
  return authorizedHeaders;
}
