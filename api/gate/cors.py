"""Which pages of other origins may ask from a browser (CORS): none, unless a setting names them."""

from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

_ASKED = ("Content-Type", "If-None-Match", "Range", "X-Request-ID")
"""Headers of requests beside those that any page may send."""

_TOLD = (
    "Accept-Ranges",
    "Content-Disposition",
    "Content-Range",
    "ETag",
    "Graphkin-Generation",
    "Retry-After",
    "X-Request-ID",
)
"""Headers of replies beside those that any page may read."""


def cors(origins: Sequence[str]) -> list[Middleware]:
    """For the application. Credentials are never let through, so `*` gives nobody more than he has himself."""
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
