"""Selection of diverse subsets of a collection."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from graphkin.protocol.errors import InvalidInput, require
from graphkin.protocol.values import Picking
from graphkin.similarity.kind import Advance, Search
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.stored_index import load_or_compute_index
from graphkin.store.base import Generation
from graphkin.store.identity import tie_ranks
from graphkin.store.records import Float32, Float64, Int32, Int64, UInt64


class Pick(NamedTuple):
    """One picked item.

    Attributes:
        id: The item.
        nearest: Its similarity to the most similar item picked before it, 0 for the first item.
    """

    id: int
    nearest: float


@dataclass(frozen=True)
class DiverseSubset:
    """A diverse subset.

    Attributes:
        ids: (n,) int32 ids, in the order in which they were picked.
        nearest: (n,) float32 similarity to the most similar item picked before, 0 for the first item.
        size: The number of items to pick from.
    """

    ids: Int32
    nearest: Float32
    size: int

    @classmethod
    def from_picks(
        cls, picks: Iterator[Pick], count: int, size: int, advance: Advance = lambda _: None
    ) -> "DiverseSubset":
        """Take the first `count` picks, or all if there are fewer. `size` is the number of items to pick from."""
        subset = list[Pick]()
        for pick in islice(picks, count):
            subset.append(pick)
            advance(1)
        return cls(
            np.array([pick.id for pick in subset], np.int32),
            np.array([pick.nearest for pick in subset], np.float32),
            size,
        )


class Picker:
    """A picker of diverse subsets, by exact MaxMin or sphere exclusion.

    Ties are broken by the content of items, so the order of the input does not matter. A smaller subset is a prefix of
    a larger one.

    Args:
        generation: The generation.
        search: The search index of the generation.
        among: (n,) distinct ids to pick from. By default all items.
    """

    def __init__(self, generation: Generation, search: Search, among: Int32 | None = None) -> None:
        self._ids = np.arange(generation.size, dtype=np.int32) if among is None else np.sort(among)
        self.size = len(self._ids)
        self._search = search
        # A slice avoids a copy of all fingerprints.
        self._compared = slice(None) if self.size == generation.size else self._ids
        tie = _ties(generation)[self._ids]
        self._ranks = np.empty(self.size, np.int64)
        self._ranks[np.argsort(tie)] = np.arange(self.size)

    def picks(self, method: Picking, threshold: float, count: int) -> Iterator[Pick]:
        """Iterate over at most `count` picks, by MaxMin or by sphere exclusion.

        Raises:
            InvalidInput: `count` is not in the range 1 to `size`, or the threshold is not in (0, 1].
        """
        if not 1 <= count <= self.size:
            raise InvalidInput(
                "cannot pick this number of items",
                given=count,
                expected=f"1 to {self.size:,}",
                hint=f"pick at most {self.size:,} items",
            )
        return islice(self.max_min() if method == "maxmin" else self.sphere_exclusion(threshold), count)

    def max_min(self) -> Iterator[Pick]:
        """Iterate over items by MaxMin: each is the one whose similarity to the nearest item before it is lowest."""

        def find_farthest(nearest: Float64) -> int | None:
            least = np.flatnonzero(nearest == nearest.min())
            place = int(least[np.argmin(self._ranks[least])])
            return None if np.isinf(nearest[place]) else place

        return self._picks(find_farthest)

    def sphere_exclusion(self, threshold: float) -> Iterator[Pick]:
        """Iterate over items of which no two have a similarity ≥ `threshold`.

        Raises:
            InvalidInput: The threshold is not in (0, 1].
        """
        require(
            0 < threshold <= 1,
            "threshold",
            threshold,
            "a similarity above 0 and at most 1",
            hint="choose a threshold such as 0.65; a lower one picks fewer items",
        )
        order: Int64 = np.argsort(self._ranks)
        position = 0

        def find_first_outside(nearest: Float64) -> int | None:
            nonlocal position
            while position < len(order) and nearest[order[position]] >= threshold:
                position += 1
            return int(order[position]) if position < len(order) else None

        return self._picks(find_first_outside)

    def _picks(self, select_next: Callable[[Float64], int | None]) -> Iterator[Pick]:
        """Iterate over the picks of a method.

        Args:
            select_next: A function that returns the position of the next item, or None at the end. Its argument is the
                similarity of each item to the most similar picked item, (n,), infinite for picked items.
        """
        nearest = np.zeros(self.size)
        while (place := select_next(nearest)) is not None:
            id, similarity = int(self._ids[place]), float(nearest[place])
            np.maximum(nearest, self._search.similarities(id, self._compared), out=nearest)
            nearest[place] = np.inf
            yield Pick(id, similarity)


class _Ties(NamedTuple):
    """The cached result of `_ties`: one array, because cached results are named tuples of arrays."""

    tie: UInt64


def _ties(generation: Generation) -> UInt64:
    """Return one pseudo-random number per item, (N,) uint64, that depends only on the content of the item."""
    kind = kind_of(generation)

    def make() -> _Ties:
        return _Ties(tie_ranks(kind.digests(generation, kind.recipe(generation.manifest.recipe))))

    return load_or_compute_index(generation, "ties", _Ties, lambda cached: len(cached.tie) == generation.size, make).tie
