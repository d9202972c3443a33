"""The most similar fingerprints in memory, for many query fingerprints."""

import numpy as np

from graphkin.similarity.batch import BatchSearch
from graphkin.similarity.hits import Hits, Matches
from graphkin.similarity.planes import BitPlanes
from graphkin.similarity.popcount import common_with, row_popcounts
from graphkin.store.records import UInt64


class FingerprintIndex:
    """An index of N fingerprints for exact search by Tanimoto similarity.

    Args:
        words: (N, W) uint64 packed fingerprints.

    Attributes:
        planes: Their bit-sliced form.
    """

    def __init__(self, words: UInt64) -> None:
        self._words = words
        self._popcounts = row_popcounts(words)
        self.planes = BitPlanes.from_words(words)

    def search(self, queries: UInt64, limit: int, threads: int) -> Matches:
        """Return the `limit` most similar fingerprints of each query, also those with similarity 0.

        Hits of one query are ordered by similarity in float32, descending, then by their row.

        Args:
            queries: (Q, W) uint64 packed fingerprints.
            limit: Number of hits for each query. There are fewer if N is smaller.
            threads: Number of threads.
        """

        def compare_all(query: int) -> Hits:
            shared = common_with(self._words, queries[query])
            union = self._popcounts + np.bitwise_count(queries[query]).sum(dtype=np.int64) - shared
            similarity = (shared / np.maximum(union, 1)).astype(np.float32)
            return Hits(np.arange(len(similarity), dtype=np.int32), similarity).best(limit)

        return Matches.concatenate(BatchSearch(self.planes, queries, None, limit, compare_all).matches(threads))
