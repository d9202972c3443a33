"""Packed fingerprints: the number of their words, and their hexadecimal text in the bit order of chemfp's FPS format.

A packed fingerprint is an array of uint64 words. Bit i of the fingerprint is bit i % 64 of word i // 64.
"""

import numpy as np

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.describer import Rejected
from graphkin.store.records import UInt64

MAX_BITS = 16_384
"""Maximum number of bits of a fingerprint."""

MAX_JOINED_WORDS = 1023
"""Maximum number of 64-bit words of a fingerprint in a join, because the kernels store bit numbers in 16 bits."""

_EXCERPT = 200  # maximum number of characters quoted in an error
_DIGITS = frozenset("0123456789abcdef")


def pack_hex(text: str, bits: int) -> bytes:
    """Return the bytes of a packed fingerprint, padded with zeros to whole words.

    Args:
        text: Two hexadecimal digits per byte, in upper or lower case. Byte i // 8 holds bit i of the fingerprint as its
            bit i % 8, counted from the least significant one.
        bits: Number of bits of the fingerprint.

    Raises:
        Rejected: The text is not hexadecimal, has another length, or sets a bit after the last one.
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
    return content.ljust(8 * word_count(bits), b"\0")


def read_fingerprint(text: str, bits: int) -> UInt64:
    """Return a query fingerprint in hexadecimal as packed fingerprint, (W,) uint64.

    Raises:
        InvalidInput: The text is not a fingerprint with `bits` bits. The message gives the reason.
    """
    try:
        return np.frombuffer(pack_hex(text, bits), "<u8")
    except Rejected as reason:
        excerpt = text[:_EXCERPT].encode(errors="backslashreplace").decode()
        raise InvalidInput(
            f"this is not a fingerprint of the collection: {reason}",
            given=excerpt,
            expected=f"{bits:,} bits in hexadecimal",
            hint=f"write {bits // 4} hexadecimal digits, as an FPS file does",
        ) from reason


def word_count(bits: int) -> int:
    """Return the number of words of a packed fingerprint with `bits` bits."""
    return -(-bits // 64)
