"""What browsers are told not to do with replies, however those come about."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class NoSniff:
    """ASGI middleware: every reply is what its media type says, and nothing that its bytes look like."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
            await send(message)

        await self._app(scope, receive, marked)
