"""The server's URL, without credentials in messages, and the header that authenticates requests."""

import os
import re

import httpx

from graphkin.protocol.errors import InvalidInput

_EXPECTED = "http://HOST:PORT"
_KEY = "GRAPHKIN_API_KEY"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750, 2.1


def read_address(url: str) -> httpx.URL:
    """Parse the URL of a server.

    Raises:
        InvalidInput: The text is not the URL of a server.
    """
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidInput(f"not a URL: {error}", given=without_credentials(url), expected=_EXPECTED) from error
    if base.scheme not in ("http", "https") or not base.host:
        raise InvalidInput("not the URL of a server", given=without_credentials(url), expected=_EXPECTED)
    return base


def authorization(base: httpx.URL, key: str | None) -> dict[str, str]:
    """Return the header with the API key, or no header if there is no key.

    The key is `key`, or the environment's GRAPHKIN_API_KEY unless the URL has a user.

    Raises:
        InvalidInput: The key is malformed, or both `key` and a user in the URL are set. The error does not show the
            key.
    """
    if key is not None and base.userinfo:
        raise InvalidInput("a key and a user in the URL go by the same header", expected="one of them")
    token = key if key is not None or base.userinfo else os.environ.get(_KEY, "").strip() or None
    if token is None:
        return {}
    if not _TOKEN.fullmatch(token):
        source = f"in {_KEY}" if key is None else "as key"
        raise InvalidInput(f"what is given {source} can be no key", expected="what `graphkin keys create` printed")
    return {"Authorization": f"Bearer {token}"}


def without_credentials(url: str) -> str:
    """Return the URL without user and password, even if it is malformed."""
    scheme, separator, rest = url.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]
