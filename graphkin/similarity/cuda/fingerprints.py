"""Fingerprints sorted by popcount, on the host and on the device."""

from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from graphkin.similarity.cuda.sizes import Sizes
from graphkin.similarity.planes import BitPlanes
from graphkin.similarity.popcount import row_popcounts
from graphkin.similarity.threads import run_in_order
from graphkin.store.records import Int32, Int64, UInt64

_PART = 8192  # fingerprints that are copied and unpacked at once


class SortedFingerprints(NamedTuple):
    """The fingerprints with at least one set bit, sorted by popcount.

    An empty fingerprint is similar to no other, so it is left out.

    Attributes:
        words: (N, W) uint64 packed fingerprints, unsorted, including the empty ones.
        order: (M,) int32 row of `words` at each position.
        popcounts: (M,) int64 popcount at each position, ascending.
    """

    words: UInt64
    order: Int32
    popcounts: Int64

    @classmethod
    def from_words(cls, words: UInt64) -> "SortedFingerprints":
        """Sort packed fingerprints (N, W) uint64."""
        popcounts = row_popcounts(words)
        order = np.argsort(popcounts, kind="stable").astype(np.int32)
        return cls._without_empty(words, order, popcounts[order])

    @classmethod
    def from_planes(cls, words: UInt64, planes: BitPlanes) -> "SortedFingerprints":
        """Sort fingerprints by the order of their bit-sliced form."""
        return cls._without_empty(words, planes.order, planes.popcounts)

    @classmethod
    def _without_empty(cls, words: UInt64, order: Int32, popcounts: Int64) -> "SortedFingerprints":
        first = int(np.searchsorted(popcounts, 1))
        return cls(words, order[first:], popcounts[first:])

    def __len__(self) -> int:
        """Return M, the number of fingerprints that are not empty."""
        return len(self.order)


class DeviceBlock(NamedTuple):
    """Unpacked fingerprints at consecutive positions, on the device.

    Rows are padded to a multiple of the size of a tile. The padding consists of empty fingerprints, whose popcounts are
    set to that of the last fingerprint. They have no common bits with any other, so they are similar to none.

    Attributes:
        bits: (n, width) int8, 0 or 1.
        popcounts: (n,) int32, at least 1.
    """

    bits: torch.Tensor
    popcounts: torch.Tensor

    @classmethod
    def load(
        cls, fingerprints: SortedFingerprints, start: int, stop: int, sizes: Sizes, device: torch.device, threads: int
    ) -> "DeviceBlock":
        """Copy the fingerprints at the positions [start, stop) to the device and unpack them there.

        `threads` threads read the fingerprints, which are not in order in memory.
        """
        order, words = fingerprints.order[start:stop], fingerprints.words
        padding = -len(order) % sizes.columns
        width, used = sizes.width(words.shape[1]), 64 * words.shape[1]
        bits = torch.zeros((len(order) + padding, width), dtype=torch.int8, device=device)
        shifts = torch.arange(8, dtype=torch.uint8, device=device)
        starts = range(0, len(order), _PART)
        parts = run_in_order((partial(_rows, words, order[first : first + _PART]) for first in starts), threads)
        for first, part in zip(starts, parts, strict=True):
            packed = torch.from_numpy(part.view(np.uint8)).to(device)
            bits[first : first + len(part), :used] = (packed[:, :, None] >> shifts & 1).flatten(1)
        popcounts = np.pad(fingerprints.popcounts[start:stop], (0, padding), mode="edge").astype(np.int32)
        return cls(bits, torch.from_numpy(popcounts).to(device))


def _rows(words: UInt64, order: Int32) -> UInt64:
    """Return rows of `words`. Unlike an index, `take` lets other threads run meanwhile."""
    return words.take(order, axis=0)
