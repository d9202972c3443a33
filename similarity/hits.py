"""What a search finds."""

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
