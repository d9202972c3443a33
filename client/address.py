"""The address of a server, whose user and password are shown nowhere."""

import httpx

from graphkin.protocol.errors import InvalidInput

_EXPECTED = "http://HOST:PORT"


def read_address(url: str) -> httpx.URL:
    """Raises `InvalidInput` for what is no URL of a server."""
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidInput(f"not a URL: {error}", given=without_credentials(url), expected=_EXPECTED) from error
    if base.scheme not in ("http", "https") or not base.host:
        raise InvalidInput("not the URL of a server", given=without_credentials(url), expected=_EXPECTED)
    return base


def without_credentials(url: str) -> str:
    """The URL as it may be shown, whatever is wrong with it."""
    scheme, separator, rest = url.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]
