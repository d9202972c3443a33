"""Cursors: opaque text that says where the next page of one query over one generation begins."""

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
    """`generation` 64 hexadecimal digits; `query` 8 bytes that tell queries apart; `position` 0 to 2^32 - 1."""

    generation: str
    query: bytes
    position: int

    def encode(self) -> str:
        return urlsafe_b64encode(_LAYOUT.pack(bytes.fromhex(self.generation), self.query, self.position)).decode()

    @classmethod
    def decode(cls, text: str) -> Self:
        """Raises `BadRequest` for anything that `encode` did not give."""
        try:
            generation, query, position = _LAYOUT.unpack(urlsafe_b64decode(text.encode("ascii")))
        except (ValueError, struct.error) as error:
            raise _not_a_cursor(text) from error
        cursor = cls(generation.hex(), query, position)
        if cursor.encode() != text:  # decoding passes over what is not base64
            raise _not_a_cursor(text)
        return cursor


def _not_a_cursor(text: str) -> BadRequest:
    return BadRequest("not a cursor", given=text, expected="next_cursor of a reply, unchanged")


def query_key(path: str, parameters: Iterable[tuple[str, str]]) -> bytes:
    """What a cursor is bound to: the path and every parameter but the page itself (limit, cursor, generation)."""
    asked = sorted((name, value) for name, value in parameters if name not in {"limit", "cursor", "generation"})
    return blake2b(repr((path, asked)).encode(), digest_size=8).digest()
