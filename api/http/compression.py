"""Compression of responses with zstd or gzip, negotiated by Accept-Encoding."""

import asyncio
from functools import lru_cache

import zstandard
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipResponder, IdentityResponder
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphkin.api.http.reply import ARROW

_VARIES = b"Accept-Encoding"
_MIN_SIZE = 500  # bytes; smaller bodies are not compressed
_THREAD_SIZE = 128 * 1024  # bytes; larger pieces are compressed in a thread, not on the event loop
_LEVELS = {"zstd": 3, "gzip": 4}  # Beyond gzip level 4, JSON gets hardly smaller and compression gets slower.
_INCOMPRESSIBLE = (*DEFAULT_EXCLUDED_CONTENT_TYPES, ARROW, "application/vnd.apache.parquet")
"""Media types that are compressed already, or hold numbers that compression makes hardly smaller."""


class _ZstdResponder(IdentityResponder):
    """Counterpart of Starlette's `GZipResponder` for zstd.

    Small, complete bodies share `compressor`, because creating one takes longer than compressing with it. It is used
    only on the event loop, so never concurrently.
    """

    content_encoding = "zstd"

    def __init__(self, app: ASGIApp, compressor: zstandard.ZstdCompressor) -> None:
        super().__init__(app, _MIN_SIZE, exclude_content_types=_INCOMPRESSIBLE)
        self._compressor = compressor
        self._stream: zstandard.ZstdCompressionObj | None = None

    async def apply_compression(self, body: bytes, *, more_body: bool) -> bytes:
        if len(body) >= _THREAD_SIZE:
            return await asyncio.to_thread(self._piece, body, more_body)
        if self._stream is None and not more_body:
            return self._compressor.compress(body)
        return self._piece(body, more_body)

    def _piece(self, body: bytes, more_body: bool) -> bytes:
        if self._stream is None:
            self._stream = zstandard.ZstdCompressor(_LEVELS["zstd"]).compressobj()
        end = zstandard.COMPRESSOBJ_FLUSH_BLOCK if more_body else zstandard.COMPRESSOBJ_FLUSH_FINISH
        return self._stream.compress(body) + self._stream.flush(end)


class CompressionMiddleware:
    """ASGI middleware that compresses responses.

    An entity tag identifies the uncompressed bytes, so a compressed response carries it as a weak tag. Responses to
    HEAD describe the uncompressed response: Range requests refer to its length and tag.
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
    others, varies, tag, compressed = [], b"", None, False
    for name, value in headers:
        if name == b"vary":
            varies = value
        elif name == b"etag":
            tag = value
        else:
            compressed |= name == b"content-encoding"
            others.append((name, value))
    others.append((b"vary", varies if _VARIES in varies else b"%b, %b" % (varies, _VARIES) if varies else _VARIES))
    if tag is not None:
        others.append((b"etag", b"W/" + tag if compressed or (if_none_match and b"W/" + tag in if_none_match) else tag))
    return others


@lru_cache(maxsize=256)
def preferred_coding(accepted: str) -> str | None:
    """Return the coding that an Accept-Encoding header prefers; zstd among equals, None for no compression."""
    weights = dict(map(_parse_weight, accepted.split(",")))
    best = max(_LEVELS, key=lambda coding: weights.get(coding, weights.get("*", 0.0)))
    return best if weights.get(best, weights.get("*", 0.0)) > 0 else None


def _parse_weight(element: str) -> tuple[str, float]:
    coding, _, weight = element.partition(";")
    name, _, value = weight.partition("=")
    try:
        return coding.strip().lower(), float(value) if name.strip().lower() == "q" else 1.0
    except ValueError:
        return coding.strip().lower(), 0.0
