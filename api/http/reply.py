"""Building blocks of responses: media types, entity tags, and JSON assembled from encoded parts."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import mimeparse
import numpy as np
from pydantic_core import to_json

from graphkin.protocol.errors import NotAcceptable
from graphkin.store.records import Float32, to_decimal_floats

JSON = "application/json"
JSON_LINES = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
SVG = "image/svg+xml"

IMMUTABLE = "max-age=31536000, immutable"
"""Cache-Control of content that never changes. Shared caches may store it too, unless the request had credentials."""

ROWS = (ARROW, "application/jsonl", JSON_LINES)
"""Media types of row streams. The last one is the default of clients without a preference."""


@lru_cache(maxsize=1024)
def negotiate(offers: tuple[str, ...], accept: str) -> str:
    """Return the best of `offers` for an Accept header; the last among equals.

    Raises:
        NotAcceptable: The header accepts none of them.
    """
    try:
        media_type: str = mimeparse.best_match(offers, accept)
    except mimeparse.MimeTypeParseException:
        media_type = ""
    if not media_type:
        raise NotAcceptable("none of these media types is offered here", given=accept, expected=", ".join(offers))
    return media_type


def entity_tag(*parts: str) -> str:
    """Return a strong entity tag for content that these parts determine."""
    return '"' + blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest() + '"'


def json_object(fields: Mapping[str, Any], **ready: bytes) -> bytes:
    """Return a JSON object of `fields` (at least one) and of members that are encoded already."""
    parts = [to_json(fields)[:-1]]
    parts += [b',"%b":%b' % (name.encode(), text) for name, text in ready.items()]
    return b"".join([*parts, b"}"])


def json_array(elements: Iterable[bytes]) -> bytes:
    """Return a JSON array of elements that are encoded already."""
    return b"[%b]" % b",".join(elements)


def similarity_texts(similarity: Float32) -> list[bytes]:
    """Return each similarity as the shortest text that parses to the same float32."""
    return [_text(value) for value in similarity.tolist()]


@lru_cache(maxsize=1 << 16)
def _text(similarity: float) -> bytes:
    return to_json(to_decimal_floats(np.array([similarity], dtype=np.float32))[0])


def similar_items(items: Iterable[bytes], similarity: Float32) -> bytes:
    """Return a JSON array of {item, similarity} objects."""
    pairs = zip(items, similarity_texts(similarity), strict=True)
    return json_array(b'{"item":%b,"similarity":%b}' % pair for pair in pairs)
