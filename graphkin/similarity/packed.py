"""Fingerprints as text: bits in hexadecimal, as files of chemfp's format FPS hold them."""

import numpy as np

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.describer import Rejected
from graphkin.store.records import UInt64

MAX_BITS = 16_384
"""Of the longest fingerprint that is kept."""

_SHOWN = 200  # characters in an error
_DIGITS = frozenset("0123456789abcdef")


def packed(text: str, bits: int) -> bytes:
    """The bits as whole words of 8 bytes, byte 0 first, the least significant bit of each first; letters in any case.

    Raises `Rejected` for what is not hexadecimal, of another length, or has bits beyond the last.
    """
    digits = text.lower()
    if not _DIGITS.issuperset(digits):
        raise Rejected("a fingerprint that is not written in hexadecimal")
    expected = 2 * -(-bits // 8)
    if len(digits) != expected:
        raise Rejected(f"a fingerprint of {4 * len(digits):,} bits, not {bits:,}")
    content = bytes.fromhex(digits)
    if bits % 8 and content[-1] >> bits % 8:
        raise Rejected(f"a fingerprint with bits beyond the {bits:,} that there are")
    return content.ljust(8 * words_of(bits), b"\0")


def read_fingerprint(text: str, bits: int) -> UInt64:
    """(W,) words of a fingerprint that somebody asks about. Raises `InvalidInput` with the reason."""
    try:
        return np.frombuffer(packed(text, bits), "<u8")
    except Rejected as reason:
        given = text[:_SHOWN].encode(errors="backslashreplace").decode()
        raise InvalidInput(str(reason), given=given, expected=f"{bits:,} bits in hexadecimal") from reason


def words_of(bits: int) -> int:
    """Length of a packed fingerprint in words of 64 bits."""
    return -(-bits // 64)
