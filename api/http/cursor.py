"""Page cursors: opaque texts that clients send back to get the next page of a query."""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

from graphkin.protocol.errors import BadRequest

_LAYOUT = struct.Struct(">32s8sI")  # generation, query, position


@dataclass(frozen=True)
class Cursor:
    """Start of a page in the rows of one query on one generation.

    Attributes:
        generation: Generation id, 64 hexadecimal digits.
        query: 8 bytes that identify the query (`query_key`).
        position: Index of the first row of the page, 0 to 2^32 - 1.
    """

    generation: str
    query: bytes
    position: int

    def encode(self) -> str:
        """Return the cursor as URL-safe base64, the text that clients receive."""
        return urlsafe_b64encode(_LAYOUT.pack(bytes.fromhex(self.generation), self.query, self.position)).decode()

    @classmethod
    def decode(cls, text: str) -> Self:
        """Parse a cursor.

        Raises:
            BadRequest: The text was not produced by `encode`.
        """
        try:
            generation, query, position = _LAYOUT.unpack(urlsafe_b64decode(text.encode("ascii")))
        except (ValueError, struct.error) as error:
            raise _invalid_cursor(text) from error
        cursor = cls(generation.hex(), query, position)
        if cursor.encode() != text:  # The base64 decoder skips invalid characters, so it accepts altered texts.
            raise _invalid_cursor(text)
        return cursor


def _invalid_cursor(text: str) -> BadRequest:
    return BadRequest(
        "the cursor is malformed",
        given=text,
        expected="the next_cursor of a reply, unchanged",
        hint="repeat the query without a cursor, and follow its next_cursor",
    )


def query_key(path: str, parameters: Iterable[tuple[str, str]]) -> bytes:
    """Return a hash of 8 bytes that identifies a query.

    The hash covers the path and all parameters except `limit`, `cursor` and `generation`, which may differ between the
    pages of one query. `Cursor` holds the generation separately.
    """
    pairs = sorted((name, value) for name, value in parameters if name not in {"limit", "cursor", "generation"})
    return blake2b(repr((path, pairs)).encode(), digest_size=8).digest()
