"""Writing replies: media types, entity tags, JSON put together from parts that are JSON already."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import mimeparse
import numpy as np
from pydantic_core import to_json

from graphkin.protocol.errors import NotAcceptable
from graphkin.store.records import Float32, shortest

JSON = "application/json"
JSON_LINES = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
SVG = "image/svg+xml"

FOR_EVER = "max-age=31536000, immutable"
"""Cache-Control of what never changes. A shared cache may keep it too, but for what came with credentials."""

ROWS = (ARROW, "application/jsonl", JSON_LINES)
"""What large replies are offered in; the last is what a client that does not mind gets."""


@lru_cache(maxsize=1024)
def negotiate(offers: tuple[str, ...], accept: str) -> str:
    """The best of `offers` (the last among equals) for an Accept header. Raises `NotAcceptable`."""
    try:
        chosen: str = mimeparse.best_match(offers, accept)
    except mimeparse.MimeTypeParseException:
        chosen = ""
    if not chosen:
        raise NotAcceptable("none of these media types is offered here", given=accept, expected=", ".join(offers))
    return chosen


def entity_tag(*parts: str) -> str:
    """A strong entity tag for whatever these parts determine."""
    return '"' + blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest() + '"'


def document(fields: Mapping[str, Any], **ready: bytes) -> bytes:
    """A JSON object of `fields` (at least one) and of members that are JSON already."""
    parts = [to_json(fields)[:-1]]
    parts += [b',"%b":%b' % (name.encode(), text) for name, text in ready.items()]
    return b"".join([*parts, b"}"])


def array(elements: Iterable[bytes]) -> bytes:
    """A JSON array of elements that are JSON already."""
    return b"[%b]" % b",".join(elements)


def similarity_texts(similarity: Float32) -> list[bytes]:
    """Each similarity as the shortest text that reads back as the same float32."""
    return [_text(value) for value in similarity.tolist()]


@lru_cache(maxsize=1 << 16)
def _text(similarity: float) -> bytes:
    return to_json(shortest(np.array([similarity], dtype=np.float32))[0])


def similar_items(items: Iterable[bytes], similarity: Float32) -> bytes:
    """A JSON array of {item, similarity}."""
    pairs = zip(items, similarity_texts(similarity), strict=True)
    return array(b'{"item":%b,"similarity":%b}' % pair for pair in pairs)
