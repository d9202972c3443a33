"""Parsing of a server's URL, and the header that authenticates requests."""

import os
import re

import httpx

from graphkin.protocol.errors import InvalidInput

_URL_FORM = "http://HOST:PORT"
_KEY_VARIABLE = "GRAPHKIN_API_KEY"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750, section 2.1


def parse_server_url(url: str) -> httpx.URL:
    """Parse the URL of a server.

    Raises:
        InvalidInput: `url` is malformed, its scheme is not http or https, or it has no host.
    """
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidInput(
            f"the server's URL is not valid: {error}",
            given=without_credentials(url),
            expected=_URL_FORM,
            hint="use the URL that `graphkin serve` prints",
        ) from error
    if base.scheme not in ("http", "https") or not base.host:
        raise InvalidInput(
            "this is not the URL of a graphkin server",
            given=without_credentials(url),
            expected=_URL_FORM,
            hint="use the URL that `graphkin serve` prints",
        )
    return base


def authorization_header(base: httpx.URL, key: str | None) -> dict[str, str]:
    """Return the Authorization header with the API key, or an empty mapping if there is no key.

    Args:
        base: URL of the server. If it has a user, httpx sends basic authentication and the environment is ignored.
        key: API key; default: GRAPHKIN_API_KEY in the environment.

    Raises:
        InvalidInput: The key is malformed, or both `key` and a user in the URL are set. The error does not show the
            key.
    """
    if key is not None and base.userinfo:
        raise InvalidInput(
            "a key and a user in the URL exclude each other: both are sent as Authorization",
            expected="a key, or a user and a password in the URL",
            hint="remove one of them",
        )
    token = key if key is not None or base.userinfo else os.environ.get(_KEY_VARIABLE, "").strip() or None
    if token is None:
        return {}
    if not _TOKEN.fullmatch(token):
        source = f"in {_KEY_VARIABLE}" if key is None else "as key"
        raise InvalidInput(
            f"the key {source} is malformed",
            expected="what `graphkin keys create` printed",
            hint="create a key with `graphkin keys create`, and copy all of its characters",
        )
    return {"Authorization": f"Bearer {token}"}


def without_credentials(url: str) -> str:
    """Remove user and password from a URL, which may be malformed."""
    scheme, separator, rest = url.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]
