"""Bit-sliced counters, which count for all 512 columns of a tile at once how many of some planes have a bit set."""

import numpy as np

from graphkin.similarity.lanes import WORDS, Vector, all_set, load, spread, store
from graphkin.similarity.planes import STEP, UInt16
from graphkin.store.kernels import inline_kernel, kernel
from graphkin.store.records import UInt64

FIRST_CHECK, LATER_CHECK, NEVER = 0, 1, 2  # the check at which all columns had overflowed

_REGISTER_DIGITS = 5  # digits of the counters that are kept in registers; further digits are kept in memory


@kernel
def count_digits(max_lacking: int) -> int:
    """Return the number of binary digits of counters that overflow after `max_lacking` planes."""
    digits = _REGISTER_DIGITS
    while max_lacking >> digits:
        digits += 1
    return digits


@inline_kernel
def add_planes(
    vectors: UInt64,
    base: np.uint64,
    ranks: UInt16,
    at: np.uint64,
    next_check: np.uint64,
    end: np.uint64,
    max_lacking: int,
    digits: int,
    counters: UInt64,
) -> int:
    """Add up the planes with the ranks ranks[at:end] until all columns have overflowed.

    Args:
        vectors: The planes of one or more tiles.
        base: Index of the first word of the tile.
        ranks: Ranks of the planes to add.
        at: Index of the first rank.
        next_check: Index of the rank before which overflow is first checked. Further checks follow every 8 ranks.
        end: Index after the last rank.
        max_lacking: Number of planes that a counter can add without overflow.
        digits: Number of binary digits of the counters.
        counters: Output if columns remain: the mask of overflowed columns, then the digits of the counters.

    Returns:
        The check at which all columns had overflowed: `FIRST_CHECK`, `LATER_CHECK` or `NEVER`.
    """
    start = (1 << digits) - 1 - max_lacking
    one, two, four = _digit_vector(start, 0), _digit_vector(start, 1), _digit_vector(start, 2)
    eight, sixteen, overflowed = _digit_vector(start, 3), _digit_vector(start, 4), spread(np.uint64(0))
    for digit in range(_REGISTER_DIGITS, digits):
        store(counters, np.uint64(WORDS * (1 + digit)), _digit_vector(start, digit))
    outcome = FIRST_CHECK
    while next_check <= end:
        while at < next_check:
            one, two, four, carry = _add_eight(vectors, base, ranks, at, one, two, four)
            eight, carry = eight ^ carry, eight & carry
            sixteen, carry = sixteen ^ carry, sixteen & carry
            for digit in range(_REGISTER_DIGITS, digits):
                value = load(counters, np.uint64(WORDS * (1 + digit)))
                store(counters, np.uint64(WORDS * (1 + digit)), value ^ carry)
                carry = value & carry
            overflowed = overflowed | carry
            at += np.uint64(STEP)
        if all_set(overflowed):
            return outcome
        outcome = LATER_CHECK
        next_check += np.uint64(STEP)
    store(counters, np.uint64(0), overflowed)
    store(counters, np.uint64(WORDS), one)
    store(counters, np.uint64(2 * WORDS), two)
    store(counters, np.uint64(3 * WORDS), four)
    store(counters, np.uint64(4 * WORDS), eight)
    store(counters, np.uint64(5 * WORDS), sixteen)
    return NEVER


@kernel
def _digit_vector(value: int, digit: int) -> Vector:
    """Return a vector in which all bits equal the binary digit of `value` with the place value 2 ** `digit`."""
    return spread(np.uint64((value >> digit) & 1))


@kernel
def _load_plane(vectors: UInt64, base: np.uint64, ranks: UInt16, at: np.uint64) -> Vector:
    """Load the plane of the bit whose rank is at ranks[at] in the tile at `base`."""
    return load(vectors, base + np.uint64(ranks[at]) * np.uint64(WORDS))


@kernel
def _full_adder(a: Vector, b: Vector, c: Vector) -> tuple[Vector, Vector]:
    """Return the sum and the carry of three bits in each column."""
    return a ^ b ^ c, (a & b) | (c & (a | b))


@kernel
def _add_eight(
    vectors: UInt64, base: np.uint64, ranks: UInt16, at: np.uint64, one: Vector, two: Vector, four: Vector
) -> tuple[Vector, Vector, Vector, Vector]:
    """Add eight planes to the three lowest digits, as the Harley-Seal algorithm does.

    Returns:
        The digits with the values 1, 2 and 4, and the carry into the digit with the value 8.
    """
    a, b = _load_plane(vectors, base, ranks, at), _load_plane(vectors, base, ranks, at + np.uint64(1))
    one, two_a = _full_adder(one, a, b)
    a, b = _load_plane(vectors, base, ranks, at + np.uint64(2)), _load_plane(vectors, base, ranks, at + np.uint64(3))
    one, two_b = _full_adder(one, a, b)
    two, four_a = _full_adder(two, two_a, two_b)
    a, b = _load_plane(vectors, base, ranks, at + np.uint64(4)), _load_plane(vectors, base, ranks, at + np.uint64(5))
    one, two_a = _full_adder(one, a, b)
    a, b = _load_plane(vectors, base, ranks, at + np.uint64(6)), _load_plane(vectors, base, ranks, at + np.uint64(7))
    one, two_b = _full_adder(one, a, b)
    two, four_b = _full_adder(two, two_a, two_b)
    four, eight = _full_adder(four, four_a, four_b)
    return one, two, four, eight
