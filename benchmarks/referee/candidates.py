"""Candidates of an approximate engine, compared by Tanimoto, and the share of the exact neighbors among them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity.join import Pairs
from graphkin.similarity.nearest import FingerprintIndex
from graphkin.similarity.window import Similarity
from graphkin.store.records import Float32, Float64, Int64, UInt64


class Candidates(NamedTuple):
    """Possible neighbors of Q queries, each pair of a query and an item once, sorted by query.

    Attributes:
        query: (C,) int64 number of the query, from 0.
        item: (C,) int64 row of the item. It is never the query itself.
    """

    query: Int64
    item: Int64

    @classmethod
    def from_lists(cls, items: Iterable[NDArray[np.integer]], rows: Int64, count: int) -> "Candidates":
        """Return the candidates that an engine lists.

        Args:
            items: The rows of the items of each query. Engines fill short lists with other numbers, which are ignored.
            rows: (Q,) the row of each query among the items.
            count: Number of items.
        """
        query, item = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number, (listed, own) in enumerate(zip(items, rows, strict=True)):
            # An unsigned number, such as the key that usearch fills with, may not fit into int64.
            kept = np.unique(listed[(listed >= 0) & (listed < count) & (listed != own)]).astype(np.int64)
            query.append(np.full(len(kept), number, np.int64))
            item.append(kept)
        return cls(np.concatenate(query), np.concatenate(item))

    def similarities(self, tanimoto: Similarity, rows: Int64) -> Float64:
        """Return (C,) float64, the similarity of each candidate with its query.

        Args:
            tanimoto: Function that computes the similarities of pairs of items.
            rows: (Q,) the row of each query among the items.
        """
        return tanimoto(rows[self.query].astype(np.int32), self.item.astype(np.int32))


class Exact(NamedTuple):
    """The exact neighbors of Q queries, as far as the recall needs them.

    Attributes:
        rows: (Q,) int64 the row of each query among the items.
        ks: Numbers of neighbors.
        least: (len(ks), Q) float32 similarity of the k-th most similar other item.
        thresholds: Lowest similarities.
        degrees: (len(thresholds), Q) int64 number of other items with at least this similarity.
    """

    rows: Int64
    ks: tuple[int, ...]
    least: Float32
    thresholds: tuple[float, ...]
    degrees: Int64


class Scores(NamedTuple):
    """Recall of the candidates.

    Attributes:
        at_k: For each k, the mean share of the k most similar items among the candidates. An item that is as similar
            as the k-th counts as one of them, so that the order of ties does not matter.
        at_threshold: For each threshold, the share of the pairs of a query and an item with at least this similarity.
            None if there is no such pair.
        complete: For each threshold, the share of the queries with such a pair whose pairs are all found.
    """

    at_k: dict[str, float]
    at_threshold: dict[str, float | None]
    complete: dict[str, float | None]


def find_exact(
    words: UInt64, rows: Int64, ks: Sequence[int], pairs: Pairs, thresholds: Sequence[float], threads: int
) -> Exact:
    """Return the exact neighbors of the items `rows`.

    Args:
        words: (N, W) uint64 packed fingerprints.
        rows: (Q,) int64 rows of the queries.
        ks: Numbers of neighbors, each below N.
        pairs: All pairs with at least the lowest of the thresholds.
        thresholds: Lowest similarities.
        threads: Number of threads.
    """
    limit = max(ks) + 1
    nearest = FingerprintIndex(words).search(words[rows], limit, threads).similarity.reshape(len(rows), limit)
    # The query itself, or an item with the same fingerprint, is in column 0, so column k has the k-th other item.
    least = nearest[:, list(ks)].T
    degrees = [pairs.take(pairs.similarity >= each).degrees(len(words))[rows] for each in thresholds]
    return Exact(rows, tuple(ks), least, tuple(thresholds), np.array(degrees, np.int64))


def score(candidates: Candidates, similarity: Float64, exact: Exact) -> Scores:
    """Return the recall of candidates with these similarities, (C,) float64."""
    queries = len(exact.rows)
    at_k = {}
    for k, least in zip(exact.ks, exact.least, strict=True):
        hits = np.bincount(
            candidates.query[similarity.astype(np.float32) >= least[candidates.query]], minlength=queries
        )
        at_k[f"{k}"] = float(np.minimum(hits, k).mean() / k)
    at_threshold, complete = {}, {}
    for threshold, degrees in zip(exact.thresholds, exact.degrees, strict=True):
        hits = np.bincount(candidates.query[similarity >= threshold], minlength=queries)
        has_neighbors = degrees > 0
        is_empty = not has_neighbors.any()
        at_threshold[f"{threshold:g}"] = None if is_empty else float(hits.sum() / degrees.sum())
        complete[f"{threshold:g}"] = None if is_empty else float((hits == degrees)[has_neighbors].mean())
    return Scores(at_k, at_threshold, complete)
