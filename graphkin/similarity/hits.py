"""Results of a search."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from graphkin.store.records import Float32, Int32, Int64


def ranks_in_groups(groups: Int32 | Int64) -> Int64:
    """Return the rank of each row in its group, (n,) int64 from 0. `groups`, (n,), is sorted."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)


@dataclass(frozen=True)
class Hits:
    """The hits of one query.

    Attributes:
        ids: (H,) int32 ids of the items.
        similarity: (H,) float32 similarities.
        total: Number of items that reach the threshold, before the limit on hits applies; None if it was not counted.
    """

    ids: Int32
    similarity: Float32
    total: int | None = None

    def best(self, limit: int, total: int | None = None) -> "Hits":
        """Return the `limit` most similar hits, ordered by similarity (descending), then id.

        Args:
            limit: Maximum number of hits.
            total: The attribute `total` of the result.
        """
        ids, similarity = self.ids, self.similarity
        if len(ids) > limit:
            candidates = similarity >= np.partition(similarity, len(ids) - limit)[len(ids) - limit]
            ids, similarity = ids[candidates], similarity[candidates]
        order = np.lexsort((ids, -similarity))[:limit]
        return Hits(ids[order], similarity[order], total)

    def concatenate(self, others: "Hits") -> "Hits":
        """Return these hits followed by `others`, in this order."""
        return Hits(np.concatenate([self.ids, others.ids]), np.concatenate([self.similarity, others.similarity]))


NO_HITS = Hits(np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass(frozen=True)
class Matches:
    """The hits of several queries.

    The hits of one query are contiguous and ordered as `Hits.best` orders them.

    Attributes:
        query: (H,) int32 number of the query of each hit.
        ids: (H,) int32 ids of the items.
        similarity: (H,) float32 similarities.
    """

    query: Int32
    ids: Int32
    similarity: Float32

    @staticmethod
    def from_hits(query: int, hits: Hits) -> "Matches":
        """Return the hits of one query as matches."""
        return Matches(np.full(len(hits.ids), query, np.int32), hits.ids, hits.similarity)

    @staticmethod
    def concatenate(parts: "Iterable[Matches]") -> "Matches":
        """Concatenate `parts`, sorted by query. All hits of one query must be in the same part."""
        blocks = [Matches.from_hits(0, NO_HITS), *parts]
        query, ids, similarity = (
            np.concatenate([getattr(block, name) for block in blocks]) for name in ("query", "ids", "similarity")
        )
        order = np.argsort(query, kind="stable")
        return Matches(query[order], ids[order], similarity[order])
