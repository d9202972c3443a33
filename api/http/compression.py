"""Compression of responses with zstd or gzip, negotiated by Accept-Encoding."""

import asyncio
from functools import lru_cache

import zstandard
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipResponder, IdentityResponder
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphkin.api.http.reply import ARROW

_ACCEPT_ENCODING = b"Accept-Encoding"
_MIN_SIZE = 500  # bytes; smaller bodies are not compressed
_THREAD_SIZE = 128 * 1024  # bytes; larger pieces are compressed in a thread, because they would block the event loop
_LEVELS = {"zstd": 3, "gzip": 4}  # Higher levels of gzip are slower and make JSON hardly smaller.
_INCOMPRESSIBLE = (*DEFAULT_EXCLUDED_CONTENT_TYPES, ARROW, "application/vnd.apache.parquet")
"""Media types whose content is compressed already, or consists of numbers that hardly compress."""


class _ZstdResponder(IdentityResponder):
    """Counterpart of Starlette's `GZipResponder` for zstd.

    Args:
        app: Wrapped application.
        compressor: Compressor of small, complete bodies. All responses share it, because its creation takes longer than
            the compression of such a body. It is used only on the event loop, so never concurrently.
    """

    content_encoding = "zstd"

    def __init__(self, app: ASGIApp, compressor: zstandard.ZstdCompressor) -> None:
        super().__init__(app, _MIN_SIZE, exclude_content_types=_INCOMPRESSIBLE)
        self._compressor = compressor
        self._stream: zstandard.ZstdCompressionObj | None = None

    async def apply_compression(self, body: bytes, *, more_body: bool) -> bytes:
        if len(body) >= _THREAD_SIZE:
            return await asyncio.to_thread(self._compress_piece, body, more_body)
        if self._stream is None and not more_body:
            return self._compressor.compress(body)
        return self._compress_piece(body, more_body)

    def _compress_piece(self, body: bytes, more_body: bool) -> bytes:
        if self._stream is None:
            self._stream = zstandard.ZstdCompressor(_LEVELS["zstd"]).compressobj()
        end = zstandard.COMPRESSOBJ_FLUSH_BLOCK if more_body else zstandard.COMPRESSOBJ_FLUSH_FINISH
        return self._stream.compress(body) + self._stream.flush(end)


class CompressionMiddleware:
    """ASGI middleware that compresses responses.

    An entity tag identifies the uncompressed bytes, so a compressed response has a weak tag. The response to HEAD
    describes the uncompressed response, because Range requests refer to its length and tag.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressor = zstandard.ZstdCompressor(_LEVELS["zstd"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        accepted = if_none_match = b""
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                accepted = value
            elif name == b"if-none-match":
                if_none_match = value

        async def send_adapted(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _adapt_headers(message["headers"], if_none_match)
            await send(message)

        coding = None if scope["method"] == "HEAD" else preferred_coding(accepted.decode("latin-1"))
        await self._responder(coding)(scope, receive, send_adapted)

    def _responder(self, coding: str | None) -> ASGIApp:
        if coding == "zstd":
            return _ZstdResponder(self._app, self._compressor)
        if coding == "gzip":
            return GZipResponder(self._app, _MIN_SIZE, _LEVELS["gzip"], exclude_content_types=_INCOMPRESSIBLE)
        return self._app


def _adapt_headers(headers: list[tuple[bytes, bytes]], if_none_match: bytes) -> list[tuple[bytes, bytes]]:
    """Return the response headers with `Vary: Accept-Encoding`, and with a weak entity tag where needed.

    The tag is weak if the response is compressed, or if the client already has the compressed response.
    """
    adapted, vary, tag, is_compressed = [], b"", None, False
    for name, value in headers:
        if name == b"vary":
            vary = value
        elif name == b"etag":
            tag = value
        else:
            is_compressed |= name == b"content-encoding"
            adapted.append((name, value))
    if _ACCEPT_ENCODING not in vary:
        vary = b"%b, %b" % (vary, _ACCEPT_ENCODING) if vary else _ACCEPT_ENCODING
    adapted.append((b"vary", vary))
    if tag is not None:
        weak_tag = b"W/" + tag
        adapted.append((b"etag", weak_tag if is_compressed or weak_tag in if_none_match else tag))
    return adapted


@lru_cache(maxsize=256)
def preferred_coding(accepted: str) -> str | None:
    """Return the content coding (`zstd` or `gzip`) that an Accept-Encoding header prefers; None for no compression.

    If the header prefers neither, the result is `zstd`.
    """
    weights = dict(map(_parse_weight, accepted.split(",")))
    best = max(_LEVELS, key=lambda coding: weights.get(coding, weights.get("*", 0.0)))
    return best if weights.get(best, weights.get("*", 0.0)) > 0 else None


def _parse_weight(element: str) -> tuple[str, float]:
    coding, _, weight = element.partition(";")
    parameter, _, value = weight.partition("=")
    try:
        return coding.strip().lower(), float(value) if parameter.strip().lower() == "q" else 1.0
    except ValueError:
        return coding.strip().lower(), 0.0
