"""Security headers of responses."""

from collections.abc import Sequence

PAGE_HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' blob: data:",  # The structure editor's cursors are data: URLs, saved images are blob: URLs.
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    ),
}
"""Headers of the web page's files."""

SVG_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
"""Headers of an SVG. A browser that opens an SVG treats it as a page of this origin, so scripts must be forbidden.

RDKit writes style attributes, so inline styles are allowed.
"""

_COMMON_HEADERS = (
    (b"x-content-type-options", b"nosniff"),  # Browsers must trust the media type and not guess from the content.
    (b"referrer-policy", b"no-referrer"),  # Addresses contain structures, which other sites must not see.
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


def common_headers(origins: Sequence[str]) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of every response.

    Pages of other origins may embed a response only if `origins`, the origins allowed by CORS, is not empty.
    """
    return *_COMMON_HEADERS, (b"cross-origin-resource-policy", b"cross-origin" if origins else b"same-origin")
