"""Which pages of other origins may ask from a browser (CORS): none, unless a setting names them."""

from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

_ASKED = ("Authorization", "Content-Type", "If-None-Match", "Range", "X-Request-ID")
"""Headers of requests beside those that any page may send."""

_TOLD = (
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
"""Headers of replies beside those that any page may read."""


def cors(origins: Sequence[str]) -> list[Middleware]:
    """For the application. A browser's own credentials are never let through, so `*` gives nobody more
    than he has himself; a key is what a page was told."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=("GET", "HEAD", "POST"),
            allow_headers=_ASKED,
            expose_headers=_TOLD,
        )
    ]
