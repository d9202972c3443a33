"""What browsers are told not to do with replies, however those come about."""

from collections.abc import Sequence

PAGE = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' blob: data:",  # the structure editor's cursors are data:, saved pictures blob:
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    ),
}
"""Headers of what the page is made of."""

DRAWING = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
"""Headers of an SVG, which is a document of this origin where it is opened alone. RDKit's have style attributes."""

_EVERY = (
    (b"x-content-type-options", b"nosniff"),  # it is what its media type says, and nothing that its bytes look like
    (b"referrer-policy", b"no-referrer"),  # addresses hold structures
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


def every(origins: Sequence[str]) -> tuple[tuple[bytes, bytes], ...]:
    """Headers of every reply. Pages of other origins show nothing of it, unless some may read it anyway."""
    return *_EVERY, (b"cross-origin-resource-policy", b"cross-origin" if origins else b"same-origin")
