"""Cross-origin requests from browsers (CORS). No other origin is allowed unless the settings list it."""

from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

_REQUEST_HEADERS = ("Authorization", "Content-Type", "If-None-Match", "Range", "X-Request-ID")
"""Allowed request headers, besides those that CORS always allows."""

_EXPOSED_HEADERS = (
    "Accept-Ranges",
    "Content-Disposition",
    "Content-Range",
    "ETag",
    "Graphkin-Generation",
    "Graphkin-Pairs",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "WWW-Authenticate",
    "X-Request-ID",
)
"""Exposed response headers, besides those that CORS always exposes."""


def cors_middleware(origins: Sequence[str]) -> list[Middleware]:
    """Return the CORS middleware for these origins; none if there are no origins.

    Browser credentials (cookies) are never allowed, so `*` gives a page no more rights than any other client has. An
    API key must be given to the page explicitly.
    """
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=("GET", "HEAD", "POST"),
            allow_headers=_REQUEST_HEADERS,
            expose_headers=_EXPOSED_HEADERS,
        )
    ]
