"""Cursors that a server gave, and what may be made of them."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from random import Random

PAGED = ("items?limit=1", "items/2/neighbors?limit=1", "components?limit=1&min_similarity=0.5", "rejections?limit=1")
"""Queries whose replies have a next page."""

_FLIPPED = tuple(f"flipped-{number}" for number in range(12))
MADE = (
    "whole", "half", "empty", "doubled", "longer", "shorter", "padded", "standard", "upper", "spaced", "newline", "nul",
    "old", "deleted", "unknown", "first", "last", "negative", *_FLIPPED,
)  # fmt: skip
"""What is made of each."""


def made(cursor: str, generations: Mapping[str, str]) -> dict[str, str]:
    """Every one of `MADE` of a cursor, as it stands in a target. `generations`: old and deleted."""
    data = urlsafe_b64decode(cursor)
    generation, query, position = data[:32], data[32:40], data[40:]
    written = {
        "longer": data + b"x",
        "shorter": data[:-1],
        "old": bytes.fromhex(generations["old"]) + query + position,
        "deleted": bytes.fromhex(generations["deleted"]) + query + position,
        "unknown": bytes(32) + query + position,
        "first": generation + query + bytes(4),
        "last": generation + query + b"\xff" * 4,
        "negative": generation + query + b"\x80\0\0\0",
        **{name: _flipped(data, Random(name)) for name in _FLIPPED},
    }
    return {
        "whole": cursor,
        "half": cursor[: len(cursor) // 2],
        "empty": "",
        "doubled": cursor * 2,
        "padded": cursor + "====",
        "standard": "%2B%2F" + cursor[2:],
        "upper": cursor.upper(),
        "spaced": f"%20{cursor}%20",
        "newline": f"{cursor}%0A",
        "nul": f"{cursor}%00",
        **{name: urlsafe_b64encode(changed).decode() for name, changed in written.items()},
    }


def _flipped(data: bytes, random: Random) -> bytes:
    """With one bit the other way round."""
    place = random.randrange(8 * len(data))
    changed = bytearray(data)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)
