"""Page cursors: opaque text that locates the next page of one query over one generation."""

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
    """Position of a page.

    Attributes:
        generation: Generation id, 64 hexadecimal digits.
        query: 8 bytes that identify the query (`query_key`).
        position: Index of the first row of the page, 0 to 2^32 - 1.
    """

    generation: str
    query: bytes
    position: int

    def encode(self) -> str:
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
            raise _not_a_cursor(text) from error
        cursor = cls(generation.hex(), query, position)
        if cursor.encode() != text:  # The base64 decoder skips invalid characters.
            raise _not_a_cursor(text)
        return cursor


def _not_a_cursor(text: str) -> BadRequest:
    return BadRequest("not a cursor", given=text, expected="next_cursor of a reply, unchanged")


def query_key(path: str, parameters: Iterable[tuple[str, str]]) -> bytes:
    """Return the hash that identifies a query: its path and all parameters but limit, cursor and generation."""
    pairs = sorted((name, value) for name, value in parameters if name not in {"limit", "cursor", "generation"})
    return blake2b(repr((path, pairs)).encode(), digest_size=8).digest()
