"""Which items of a generation have a substructure, as far as anybody has asked. What is known stays true."""

from collections.abc import Iterator

import numpy as np

from graphkin.similarity.kind import BLOCK, Advance, Pattern, Substructures
from graphkin.store.records import Int32, Mask

_PART = 1024  # items, at most, that are asked about at a time


class Having:
    """Of one pattern, and of `size` items. Safe to share between threads."""

    def __init__(self, pattern: Pattern, size: int) -> None:
        self.pattern = pattern
        self._known = np.zeros(size, np.bool_)
        self._has = np.zeros(size, np.bool_)

    @property
    def nbytes(self) -> int:
        return self._known.nbytes + self._has.nbytes

    def unknown(self, ids: Int32) -> dict[int, list[Int32]]:
        """Those of some items of which it is not known, in parts, by the block that they are described in."""
        rest = np.unique(ids[~self._known[ids]])
        blocks = rest // BLOCK
        return {block: [*_parts(rest[blocks == block])] for block in np.unique(blocks).tolist()}

    def learn(self, ids: Int32, has: Mask) -> None:
        """(n,) which of these items have it."""
        self._has[ids] = has
        self._known[ids] = True

    def find(
        self, substructures: Substructures, ids: Int32, threads: int, advance: Advance = lambda _: None
    ) -> "Having":
        """Learn it of some items here and now; `advance` is told of how many it is known. Gives this."""
        left = len(ids)
        for parts in self.unknown(ids).values():
            for part in parts:
                self.learn(part, substructures.having(self.pattern, part, threads))
                advance(len(part))
                left -= len(part)
        advance(left)  # what was known before
        return self

    def of(self, ids: Int32) -> Mask:
        """(n,) which of these items have it, of each of which that is known."""
        assert self._known[ids].all()
        return self._has[ids]


def _parts(ids: Int32) -> Iterator[Int32]:
    for start in range(0, len(ids), _PART):
        yield ids[start : start + _PART]
