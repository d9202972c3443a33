"""What browsers are told not to do with replies, however those come about."""

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
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address holds structures
}
"""Headers of what the page is made of."""

DRAWING = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
"""Headers of an SVG, which is a document of this origin where it is opened alone. RDKit's have style attributes."""

NO_SNIFF = (b"x-content-type-options", b"nosniff")
"""Of every reply: it is what its media type says, and nothing that its bytes look like."""
