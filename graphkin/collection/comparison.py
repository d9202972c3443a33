"""Comparison of two collections: the nearest item of the first for each item of the second, and its relation."""

from importlib.metadata import version
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.collection.clusters.lineage import match_items
from graphkin.protocol.comparison import ComparisonFields
from graphkin.protocol.errors import Conflict
from graphkin.similarity.kind import Advance
from graphkin.similarity.kinds import kind_of, recipe_of
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.relations import RELATIONS, relate
from graphkin.similarity.stored_index import load_or_compute_index
from graphkin.similarity.two_sets import NO_ROW, TwoSetComparison
from graphkin.store.base import Generation
from graphkin.store.records import Float64, Int32, Int64, Mask

_KINDS = ("molecule", "fingerprint")
_ROWS_PER_THREAD = 4096  # items that are searched between two reports of the progress


class NearestItems(NamedTuple):
    """The nearest item of collection A for each of the M items of collection B, whatever the threshold.

    Attributes:
        id: (M,) int32 id in A of the identical item, or else of the most similar one. -1 if no item shares a bit.
        similarity: (M,) float64 similarity of that item, 0 if there is none.
        is_identical: (M,) whether A has the same structure, or the same bits in collections of fingerprints.
    """

    id: Int32
    similarity: Float64
    is_identical: Mask


class ItemComparison(NamedTuple):
    """The relations of the M items of collection B to collection A at a threshold.

    Attributes:
        nearest: The nearest items.
        relation: (M,) int8 index into `RELATIONS`.
        rows: (R,) int64 ids in B of the items that the request selects, in its order.
    """

    nearest: NearestItems
    relation: NDArray[np.int8]
    rows: Int64

    @classmethod
    def from_nearest(cls, nearest: NearestItems, request: ComparisonFields) -> "ItemComparison":
        """Relate items at the threshold of a request, and select and order them."""
        relation = relate(nearest.is_identical, nearest.similarity, request.threshold)
        rows = np.arange(len(relation))
        if request.relation is not None:
            rows = np.flatnonzero(relation == RELATIONS.index(request.relation))
        if request.order != "id":
            similarity = nearest.similarity[rows]
            rows = rows[np.argsort(-similarity if request.order == "closest" else similarity, kind="stable")]
        return cls(nearest, relation, rows)

    @property
    def counts(self) -> dict[str, int]:
        """The number of items of B with each relation: `identical`, `near_duplicates` and `novel`."""
        identical, near_duplicates, novel = np.bincount(self.relation, minlength=len(RELATIONS)).tolist()
        return {"identical": identical, "near_duplicates": near_duplicates, "novel": novel}

    def table(self, first: int = 0, last: int | None = None) -> pa.Table:
        """Return the selected rows `first` to `last` - 1, by default all.

        Columns: id int32, in B; relation string; similarity float32 and nearest int32, the id in A. The last two are
        null for an item that shares no bit with any item of A.
        """
        ids = self.rows[first:last]
        is_missing = self.nearest.id[ids] == NO_ROW
        return pa.table(
            {
                "id": pa.array(ids.astype(np.int32)),
                "relation": pa.array(RELATIONS).take(pa.array(self.relation[ids])),
                "similarity": pa.array(self.nearest.similarity[ids].astype(np.float32), mask=is_missing),
                "nearest": pa.array(self.nearest.id[ids], mask=is_missing),
            }
        )


def cached_nearest(a: Generation, b: Generation, threads: int, advance: Advance = lambda _: None) -> NearestItems:
    """Return the nearest items from the cache of the user, or compute them. Every pair is compared.

    Args:
        a: The generation to search.
        b: The generation whose items are searched for. `require_comparable` accepts both.
        threads: The number of threads.
        advance: A function that is called with the number of items of `b` that have been processed.
    """

    def compute() -> NearestItems:
        words = b.fingerprints().words
        identical = match_items(a, b)
        if b.manifest.kind == "fingerprint":
            identical[~words.any(axis=1)] = NO_ROW  # Empty fingerprints say nothing about the items.
        search = TwoSetComparison(a.fingerprints().words)
        nearest, similarity = np.full(len(words), NO_ROW, np.int64), np.zeros(len(words))
        size = _ROWS_PER_THREAD * threads
        for start in range(0, len(words), size):
            part = slice(start, start + size)
            nearest[part], similarity[part] = search.nearest(words[part], threads)
            advance(len(words[part]))
        is_identical = identical != NO_ROW
        nearest[is_identical] = identical[is_identical]
        similarity[is_identical] = search.similarities(words[is_identical], nearest[is_identical])
        return NearestItems(nearest.astype(np.int32), similarity, is_identical)

    def is_valid(cached: NearestItems) -> bool:
        ids = cached.id
        return len(ids) == b.size and bool(((ids >= NO_ROW) & (ids < a.size)).all())

    return load_or_compute_index(a, f"nearest {b.id} {version('graphkin')}", NearestItems, is_valid, compute)


def require_comparable(a: Generation, b: Generation) -> None:
    """Check that the fingerprints of two collections can be compared.

    Raises:
        Conflict: The items of one have no fingerprints, or the kinds, the fingerprints or the standardizations differ.
    """
    for each in (a, b):
        if each.manifest.kind not in _KINDS:
            raise Conflict(
                f"{each.collection!r} is a collection of {each.manifest.kind}s, which have no fingerprints to compare",
                given=each.collection,
                expected="two collections of molecules, or two of fingerprints",
                hint="choose another collection",
            )
    first, second = _reading(a), _reading(b)
    different = [name for name in first if first[name] != second[name]]
    if different:
        texts = [", ".join(reading[name] for name in different) for reading in (first, second)]
        raise Conflict(
            f"the items were read differently, so they cannot be compared: {a.collection!r} has {texts[0]}, and "
            f"{b.collection!r} has {texts[1]}",
            given=f"{a.collection} and {b.collection}",
            expected="the same kind, fingerprint and standardization in both",
            hint="`graphkin compare STORE#COLLECTION FILE` compares a collection with the file of the other one",
        )


def _reading(generation: Generation) -> dict[str, str]:
    """Describe how items become fingerprints. Fingerprints of equal descriptions can be compared."""
    kind, recipe = kind_of(generation), recipe_of(generation)
    fingerprint = kind.fingerprint(recipe)
    assert fingerprint is not None  # both kinds have fingerprints
    steps = recipe.standardise if isinstance(recipe, MoleculeRecipe) else ()
    return {
        "kind": f"{generation.manifest.kind}s",
        "fingerprint": f"{fingerprint.name or 'fingerprints'} ({fingerprint.bits:,} bits)",
        "standardization": f"standardization: {', '.join(steps) or 'none'}",
    }
