"""Known matches of a substructure among the items of a generation."""

from collections.abc import Iterator

import numpy as np

from graphkin.similarity.kind import BLOCK, Advance, Pattern, Substructures
from graphkin.store.records import Int32, Mask

_PART = 1024  # items per call of the matcher, at most


class SubstructureMatches:
    """A record of the items that have been matched with one pattern, and of the results.

    A recorded match stays valid, because a generation never changes. Threads may share the record.

    Args:
        pattern: The substructure.
        size: The number of items of the generation.
    """

    def __init__(self, pattern: Pattern, size: int) -> None:
        self.pattern = pattern
        self._is_matched = np.zeros(size, np.bool_)
        self._has_substructure = np.zeros(size, np.bool_)

    @property
    def nbytes(self) -> int:
        return self._is_matched.nbytes + self._has_substructure.nbytes

    def unmatched_parts(self, ids: Int32) -> dict[int, list[Int32]]:
        """Return the items that have not been matched, in parts of at most 1,024 ids.

        Returns:
            The parts, (n,) int32 each, by the number of the block (`similarity.kind.BLOCK`) in which their items lie.
        """
        rest = np.unique(ids[~self._is_matched[ids]])
        blocks = rest // BLOCK
        return {block: [*_parts(rest[blocks == block])] for block in np.unique(blocks).tolist()}

    def record(self, ids: Int32, contains: Mask) -> None:
        """Record which of the items contain the substructure.

        Args:
            ids: (n,) ids.
            contains: (n,) bool.
        """
        self._has_substructure[ids] = contains
        self._is_matched[ids] = True

    def find(
        self, substructures: Substructures, ids: Int32, threads: int, advance: Advance = lambda _: None
    ) -> "SubstructureMatches":
        """Match items in this process.

        Args:
            substructures: The matcher.
            ids: The items.
            threads: The number of threads.
            advance: A function that is called with the number of items that have been matched.

        Returns:
            This record.
        """
        left = len(ids)
        for parts in self.unmatched_parts(ids).values():
            for part in parts:
                self.record(part, substructures.match(self.pattern, part, threads))
                advance(len(part))
                left -= len(part)
        advance(left)  # items that were matched before the call
        return self

    def mask(self, ids: Int32) -> Mask:
        """Return whether each of some items contains the substructure, (n,) bool. All must have been matched."""
        assert self._is_matched[ids].all()
        return self._has_substructure[ids]


def _parts(ids: Int32) -> Iterator[Int32]:
    for start in range(0, len(ids), _PART):
        yield ids[start : start + _PART]
