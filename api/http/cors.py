"""Cross-origin requests from browsers (CORS). Only the origins that the settings list are allowed."""

from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

_REQUEST_HEADERS = ("Authorization", "Content-Type", "If-None-Match", "Range", "X-Request-ID")
"""Request headers that pages of other origins may send, in addition to those that CORS always allows."""

_EXPOSED_HEADERS = (
    "Accept-Ranges",
    "Content-Disposition",
    "Content-Range",
    "ETag",
    "Graphkin-Generation",
    "Graphkin-Pairs",
    "Graphkin-Sampler",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "WWW-Authenticate",
    "X-Request-ID",
)
"""Response headers that pages of other origins may read, in addition to those that CORS always exposes."""


def cors_middleware(origins: Sequence[str]) -> list[Middleware]:
    """Return the CORS middleware for these origins; an empty list if there are no origins.

    Browser credentials such as cookies are never allowed. So a page has no more rights than any other client, even if
    the origin `*` is allowed, and it needs an API key of its own.
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
