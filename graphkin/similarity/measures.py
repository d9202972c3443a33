"""Search by a similarity measure that differs from the one of the recipe, such as Dice or Tversky similarity.

There is no index for such a measure, so the query is compared with every item.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from graphkin.protocol.measure import Measure
from graphkin.similarity.hits import Hits
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.popcount import common_with
from graphkin.store.base import as_float32
from graphkin.store.records import Fingerprints, Float64, Int32, Int64, UInt64


class ScannedSearch(Search):
    """Base class of searches that compare the query with every item.

    Args:
        recipe_search: Search in the same generation by the measure of the recipe. It looks up identical items.
    """

    def __init__(self, recipe_search: Search) -> None:
        self._recipe_search = recipe_search

    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        similarity = self.similarities(query).astype(np.float32)
        hits = Hits(np.arange(len(similarity), dtype=np.int32), similarity)
        if min_similarity is None:
            return hits.best(limit)
        rows = np.flatnonzero((similarity > 0) & (similarity >= as_float32(min_similarity))).astype(np.int32)
        return Hits(rows, similarity[rows]).best(limit, total=len(rows))

    def find_identical(self, query: Query) -> int | None:
        return self._recipe_search.find_identical(query)

    @abstractmethod
    def similarities(self, reference: int | Query, others: Int32 | Int64 | slice = slice(None)) -> Float64: ...


class BitSearch(ScannedSearch):
    """Search by a measure of packed fingerprints: Tversky similarity, Dice or cosine (`graphkin.protocol.measure`).

    The similarity is 0 if no bit is common.

    Args:
        recipe_search: Search in the same generation by the measure of the recipe.
        fingerprints: Fingerprints of the items.
        bits: Returns the packed fingerprint of a query.
        measure: The measure.
    """

    def __init__(
        self,
        recipe_search: Search,
        fingerprints: Fingerprints,
        bits: Callable[[Query], UInt64],
        measure: Measure,
    ) -> None:
        super().__init__(recipe_search)
        self._fingerprints, self._bits, self._measure = fingerprints, bits, measure

    def similarities(self, reference: int | Query, others: Int32 | Int64 | slice = slice(None)) -> Float64:
        bits = self._bits(reference) if isinstance(reference, Query) else self._fingerprints.words[reference]
        shared = common_with(self._fingerprints.words[others], bits).astype(np.float64)
        query_bits, item_bits = float(np.bitwise_count(bits).sum()), self._fingerprints.popcounts[others]
        if self._measure.weights is None:
            denominator = np.sqrt(query_bits * item_bits)
        else:
            alpha, beta = self._measure.weights
            denominator = alpha * query_bits + beta * item_bits + (1 - alpha - beta) * shared
        similarity: Float64 = np.divide(shared, denominator, out=np.zeros_like(shared), where=shared > 0)
        return similarity
