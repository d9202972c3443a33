"""The items of a generation that have a substructure, as far as they have been matched."""

from collections.abc import Iterator

import numpy as np

from graphkin.similarity.kind import BLOCK, Advance, Pattern, Substructures
from graphkin.store.records import Int32, Mask

_PART = 1024  # items, at most, that are matched at a time


class SubstructureMatches:
    """The matches of one pattern among the items of a generation. Safe to share between threads.

    A match that was learned stays true, because a generation never changes.

    Args:
        pattern: the substructure.
        size: the number of items.
    """

    def __init__(self, pattern: Pattern, size: int) -> None:
        self.pattern = pattern
        self._known = np.zeros(size, np.bool_)
        self._has = np.zeros(size, np.bool_)

    @property
    def nbytes(self) -> int:
        return self._known.nbytes + self._has.nbytes

    def unmatched_parts(self, ids: Int32) -> dict[int, list[Int32]]:
        """Return the items of `ids` that are not matched yet, in parts, by the block that describes them."""
        rest = np.unique(ids[~self._known[ids]])
        blocks = rest // BLOCK
        return {block: [*_parts(rest[blocks == block])] for block in np.unique(blocks).tolist()}

    def learn(self, ids: Int32, has: Mask) -> None:
        """Record which of the items `ids` have the substructure: `has` is (n,) bool."""
        self._has[ids] = has
        self._known[ids] = True

    def find(
        self, substructures: Substructures, ids: Int32, threads: int, advance: Advance = lambda _: None
    ) -> "SubstructureMatches":
        """Match the items of `ids` in this process and return self; `advance` counts matched items."""
        left = len(ids)
        for parts in self.unmatched_parts(ids).values():
            for part in parts:
                self.learn(part, substructures.match(self.pattern, part, threads))
                advance(len(part))
                left -= len(part)
        advance(left)  # the items that were matched before
        return self

    def mask(self, ids: Int32) -> Mask:
        """Return (n,) bool for items that were all matched before."""
        assert self._known[ids].all()
        return self._has[ids]


def _parts(ids: Int32) -> Iterator[Int32]:
    for start in range(0, len(ids), _PART):
        yield ids[start : start + _PART]
