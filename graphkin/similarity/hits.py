"""What a search finds."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from graphkin.store.records import Float32, Int32


@dataclass(frozen=True)
class Hits:
    """ids (H,) int32 and similarity (H,) float32, most similar first, then id; total: how many pass, or None."""

    ids: Int32
    similarity: Float32
    total: int | None = None

    def best(self, limit: int, total: int | None = None) -> "Hits":
        """The first `limit` of them in this order."""
        ids, similarity = self.ids, self.similarity
        if len(ids) > limit:
            near = similarity >= np.partition(similarity, len(ids) - limit)[len(ids) - limit]
            ids, similarity = ids[near], similarity[near]
        order = np.lexsort((ids, -similarity))[:limit]
        return Hits(ids[order], similarity[order], total)

    def with_(self, others: "Hits") -> "Hits":
        return Hits(np.concatenate([self.ids, others.ids]), np.concatenate([self.similarity, others.similarity]))


NOTHING = Hits(np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass(frozen=True)
class Matches:
    """What some of many queries find: query (H,) int32, the number of the one that each hit is of, ids (H,) int32 and
    similarity (H,) float32. The hits of one query stand together, in the order of `Hits`."""

    query: Int32
    ids: Int32
    similarity: Float32

    @staticmethod
    def of(query: int, hits: Hits) -> "Matches":
        """Those of one query."""
        return Matches(np.full(len(hits.ids), query, np.int32), hits.ids, hits.similarity)

    @staticmethod
    def gathered(parts: "Iterable[Matches]") -> "Matches":
        """All of them, by query. Each part has all hits of the queries that it has any of."""
        found = [Matches.of(0, NOTHING), *parts]
        query, ids, similarity = (
            np.concatenate([getattr(part, name) for part in found]) for name in ("query", "ids", "similarity")
        )
        order = np.argsort(query, kind="stable")
        return Matches(query[order], ids[order], similarity[order])
