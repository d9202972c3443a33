"""The address of a server, whose user and password are shown nowhere, and the key that opens it."""

import os
import re

import httpx

from graphkin.protocol.errors import InvalidInput

_EXPECTED = "http://HOST:PORT"
_KEY = "GRAPHKIN_API_KEY"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750, 2.1


def read_address(url: str) -> httpx.URL:
    """Raises `InvalidInput` for what is no URL of a server."""
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidInput(f"not a URL: {error}", given=without_credentials(url), expected=_EXPECTED) from error
    if base.scheme not in ("http", "https") or not base.host:
        raise InvalidInput("not the URL of a server", given=without_credentials(url), expected=_EXPECTED)
    return base


def authorization(base: httpx.URL, key: str | None) -> dict[str, str]:
    """The header that a key is sent in: one that is given, or that the environment holds and the URL has no user
    beside. Raises `InvalidInput`, which does not show it, for what can be no key, and for both at once."""
    if key is not None and base.userinfo:
        raise InvalidInput("a key and a user in the URL go by the same header", expected="one of them")
    found = key if key is not None or base.userinfo else os.environ.get(_KEY, "").strip() or None
    if found is None:
        return {}
    if not _TOKEN.fullmatch(found):
        where = f"in {_KEY}" if key is None else "as key"
        raise InvalidInput(f"what is given {where} can be no key", expected="what `graphkin keys create` printed")
    return {"Authorization": f"Bearer {found}"}


def without_credentials(url: str) -> str:
    """The URL as it may be shown, whatever is wrong with it."""
    scheme, separator, rest = url.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]
