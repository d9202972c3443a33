"""Parts of responses: media types, entity tags, and JSON that is assembled from encoded parts."""

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
"""Cache-Control of content that never changes."""

ROWS = (ARROW, "application/jsonl", JSON_LINES)
"""Media types of row streams. The last one is the default."""


@lru_cache(maxsize=1024)
def negotiate(offers: tuple[str, ...], accept: str) -> str:
    """Return the media type of `offers` that an Accept header prefers; the last one if it prefers none.

    Raises:
        NotAcceptable: The header accepts none of the media types.
    """
    try:
        media_type: str = mimeparse.best_match(offers, accept)
    except mimeparse.MimeTypeParseException:
        media_type = ""
    if not media_type:
        raise NotAcceptable(
            "the media types in Accept are not available",
            given=accept,
            expected=f"one of {', '.join(offers)}",
            hint="set Accept to one of them, or leave it out",
        )
    return media_type


def entity_tag(*parts: str) -> str:
    """Return a strong entity tag: a hash of texts that determine the content of a response."""
    return '"' + blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest() + '"'


def json_object(fields: Mapping[str, Any], **encoded: bytes) -> bytes:
    """Return a JSON object with `fields` (at least one) and the members `encoded`, which are JSON already."""
    parts = [to_json(fields)[:-1]]
    parts += [b',"%b":%b' % (name.encode(), text) for name, text in encoded.items()]
    return b"".join([*parts, b"}"])


def json_array(elements: Iterable[bytes]) -> bytes:
    """Return a JSON array of elements that are JSON already."""
    return b"[%b]" % b",".join(elements)


def similarity_texts(similarity: Float32) -> list[bytes]:
    """Return each similarity as the shortest text that parses to the same float32."""
    return [_similarity_text(value) for value in similarity.tolist()]


@lru_cache(maxsize=1 << 16)
def _similarity_text(similarity: float) -> bytes:
    return to_json(to_decimal_floats(np.array([similarity], dtype=np.float32))[0])


def similar_items(items: Iterable[bytes], similarity: Float32) -> bytes:
    """Return a JSON array of objects with the members `item` and `similarity`, from items that are JSON already."""
    pairs = zip(items, similarity_texts(similarity), strict=True)
    return json_array(b'{"item":%b,"similarity":%b}' % pair for pair in pairs)
