"""Fingerprints as hexadecimal text, in the bit order of chemfp's FPS format."""

import numpy as np

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.describer import Rejected
from graphkin.store.records import UInt64

MAX_BITS = 16_384
"""Maximum length of a stored fingerprint."""

_EXCERPT = 200  # maximum number of characters quoted in an error
_DIGITS = frozenset("0123456789abcdef")


def packed(text: str, bits: int) -> bytes:
    """Return the fingerprint as bytes, padded to a multiple of 8.

    Byte 0 comes first; in each byte, the least significant bit comes first. The digits may be upper or lower case.

    Raises:
        Rejected: The text is not hexadecimal, has another length, or sets bits beyond the last one.
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
    """Return the (W,) uint64 words of a query fingerprint in hexadecimal.

    Raises:
        InvalidInput: The text is not a fingerprint of `bits` bits; the message is the reason.
    """
    try:
        return np.frombuffer(packed(text, bits), "<u8")
    except Rejected as reason:
        excerpt = text[:_EXCERPT].encode(errors="backslashreplace").decode()
        raise InvalidInput(str(reason), given=excerpt, expected=f"{bits:,} bits in hexadecimal") from reason


def word_count(bits: int) -> int:
    """Return the number of 64-bit words of a packed fingerprint."""
    return -(-bits // 64)
