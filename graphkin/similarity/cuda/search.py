"""Comparison of some fingerprints with all items of a generation on a GPU."""

from collections.abc import Callable, Generator, Sequence

import numpy as np
import torch

from graphkin.similarity.batch import LOWEST_SIMILARITY, BatchSearch, BestMatches, float64_bound
from graphkin.similarity.cuda.device import require_cuda
from graphkin.similarity.cuda.fingerprints import SortedFingerprints
from graphkin.similarity.cuda.join import DeviceJoin
from graphkin.similarity.hits import Hits, Matches
from graphkin.similarity.planes import BitPlanes
from graphkin.store.records import Int32, Int64, UInt64

_QUERIES_PER_TASK = 16_384


class DeviceBatchSearch(BatchSearch):
    """`BatchSearch` on a GPU: a join of the queries with the items, at the starting threshold of the queries.

    Args:
        items: (N, W) uint64 packed fingerprints of the items.
        planes: Bit-sliced fingerprints of the items.
        words, min_similarity, limit, search_one: As for `BatchSearch`.
    """

    def __init__(
        self,
        items: UInt64,
        planes: BitPlanes,
        words: UInt64,
        min_similarity: float | None,
        limit: int,
        search_one: Callable[[int], Hits],
    ) -> None:
        super().__init__(planes, words, min_similarity, limit, search_one)
        self._items = SortedFingerprints.from_planes(items, planes)
        self._device: torch.device = require_cuda()

    def matches(self, threads: int) -> Generator[Matches]:  # noqa: ARG002 - the device compares
        """Yield the matches of each task, in task order. Tasks run one after the other."""
        for start in range(0, len(self._order), _QUERIES_PER_TASK):
            yield self._run_task(self._order[start : start + _QUERIES_PER_TASK])

    def _search_block(self, queries: Int32, start_threshold: np.float32) -> Matches:
        bound = float64_bound(start_threshold)  # The best matches reach the threshold in float32.
        best = BestMatches(len(queries), start_threshold, self._limit)
        rows = SortedFingerprints.from_words(self._words[queries])
        for pairs in DeviceJoin(rows, self._items, bound, self._device).pairs():
            best.add(pairs.left, pairs.right, pairs.similarity.astype(np.float32))
            if best.is_large:
                best.keep_best()
        best.keep_best()
        return best.matches


def count_similar(items: UInt64, planes: BitPlanes, ids: Int64, thresholds: Sequence[float]) -> Int64:
    """Return (T, n) int64, as `Search.count_similar` does, for items with the packed fingerprints `items`."""
    counts = np.zeros((len(thresholds), len(ids)), np.int64)
    rows, columns = SortedFingerprints.from_words(items[ids]), SortedFingerprints.from_planes(items, planes)
    lowest = max(min(thresholds), LOWEST_SIMILARITY)
    for pairs in DeviceJoin(rows, columns, lowest, require_cuda()).pairs():
        is_other = pairs.right != ids[pairs.left]
        for row, threshold in zip(counts, thresholds, strict=True):
            similar = pairs.left[is_other & (pairs.similarity >= threshold)]
            row += np.bincount(similar, minlength=len(ids))
    return counts
