"""Kernels that count the set bits (the popcount) and the common bits of packed fingerprints."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, UInt64


@intrinsic
def popcount(typing_context: Any, value: Any) -> Any:  # noqa: ARG001 - numba requires this signature
    """Return the number of set bits of a uint64, using the processor's popcount instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        counted = builder.module.declare_intrinsic("llvm.ctpop", [ir.IntType(64)])
        return builder.call(counted, arguments)

    return types.int64(types.uint64), generate


def row_popcounts(words: UInt64) -> Int64:
    """Return the number of set bits of each packed fingerprint, (N,) int64."""
    return np.bitwise_count(words).sum(axis=1, dtype=np.int64)


@kernel
def lowest_set_bit(word: int) -> int:
    """Return the index of the lowest set bit of a nonzero uint64."""
    return popcount(~word & (word - np.uint64(1)))  # type: ignore[call-arg]


@kernel
def common(words: UInt64, left: int, right: int) -> int:
    """Return the number of bits that are set in both of two rows."""
    count = 0
    for word in range(words.shape[1]):
        count += popcount(words[left, word] & words[right, word])  # type: ignore[call-arg]
    return count


@kernel
def common_with(words: UInt64, query: UInt64) -> Int32:
    """Return (N,) int32, the number of bits that each row has in common with the fingerprint `query`, (W,) uint64."""
    counts = np.empty(len(words), np.int32)
    for row in range(len(words)):
        count = 0
        for word in range(words.shape[1]):
            count += popcount(words[row, word] & query[word])  # type: ignore[call-arg]
        counts[row] = count
    return counts


@kernel
def common_pairs(words: UInt64, left: Int32, right: Int32) -> Int32:
    """Return (P,) int32, the number of bits that the two rows of each pair have in common."""
    counts = np.empty(len(left), np.int32)
    for pair in range(len(left)):
        counts[pair] = common(words, left[pair], right[pair])
    return counts


@kernel
def minimum_common(threshold: float, max_sum: int) -> Int64:
    """Return the fewest common bits that two fingerprints need to be similar, for each sum of their popcounts.

    Two fingerprints with c common bits and popcounts that add up to s have the similarity c / (s - c), computed in
    float64. Two empty fingerprints have the similarity 0, as in RDKit.

    Args:
        threshold: Lowest similarity, above 0.
        max_sum: Largest sum of two popcounts.

    Returns:
        (max_sum + 1,) int64 fewest common bits by sum; max_sum + 1 where no number of common bits is enough.
    """
    minimum = np.full(max_sum + 1, max_sum + 1)
    for bits in range(2, max_sum + 1):
        shared = max(int(threshold * bits / (1 + threshold)) - 1, 1)  # rounding can make the estimate one too large
        while shared < bits and shared / (bits - shared) < threshold:
            shared += 1
        if shared < bits:
            minimum[bits] = shared
    return minimum
