"""Comparison of two sets of molecules or fingerprints: overlap, near duplicates and novelty of the second set."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graphkin.ingest.progress import Progress
from graphkin.library.comparison_report import render
from graphkin.library.inputs import FingerprintSet
from graphkin.library.table import Table
from graphkin.similarity.columns import fixed_width_column
from graphkin.similarity.join import Pairs
from graphkin.similarity.relations import IDENTICAL, NEAR_DUPLICATE, NOVEL, RELATIONS, relate
from graphkin.similarity.two_sets import TwoSetComparison, keep_nearest
from graphkin.store.records import Float64, Int64, UInt64

_REJECTED = -1
_BINS = 20  # of the histogram of similarities
_EXAMPLES = 12  # pairs of each kind in a report
_ROWS = 1 << 16  # rows per table of `Comparison.nearest_tables`


class ComparedSet:
    """A set of items to compare.

    Args:
        records: The n records. Their structures, if there are any, are canonical SMILES.
        words: (n, W) uint64 packed fingerprints of the records.

    Attributes:
        words: (n, W) uint64 packed fingerprints.
        fingerprint: Type of the fingerprints in the notation of chemfp; "" if it is not known.
        rejected: (m,) int64 positions of the records that cannot be read.
        reasons: The reason for each of them.
    """

    def __init__(self, records: FingerprintSet, words: UInt64) -> None:
        self.words = words
        self.fingerprint = records.type.name
        self.rejected = records.rejected
        self.reasons = records.reasons
        texts = {"name": records.names, "smiles": records.structures}
        self._columns = {
            title: pa.array(column, pa.large_string()) for title, column in texts.items() if column is not None
        }

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def identities(self) -> pa.Array:
        """An array of n values that identify the items, null for rejected records and for empty fingerprints.

        Items with structures are identified by them, and other items by their bits.
        """
        if "smiles" in self._columns:
            has_identity, values = np.ones(len(self), np.bool_), self._columns["smiles"]
        else:
            has_identity = np.asarray(self.words.any(axis=1))
            values = fixed_width_column(np.ascontiguousarray(self.words))
        has_identity[self.rejected] = False
        return pc.if_else(pa.array(has_identity), values, pa.scalar(None, values.type))

    @cached_property
    def counts(self) -> dict[str, int]:
        """Numbers of records, rejected records, items (the other records) and distinct items."""
        items = len(self) - len(self.rejected)
        distinct = pc.count_distinct(self.identities).as_py()
        return {"records": len(self), "rejected": len(self.rejected), "items": items, "distinct": distinct}

    def columns(self, end: str, positions: pa.Array, *titles: str) -> dict[str, pa.Array]:
        """Return the columns `END_name` and `END_smiles` at some positions, those that the set has.

        Args:
            end: Prefix of the names of the columns, `left` or `right`.
            positions: The positions; a null gives nulls.
            titles: `name`, `smiles` or both.
        """
        return {
            f"{end}_{title}": self._columns[title].take(positions).cast(pa.string())
            for title in titles
            if title in self._columns
        }


@dataclass(frozen=True)
class Comparison:
    """Two sets of molecules or fingerprints, and what relates the items of the second set, B, to those of the first, A.

    An item of B is identical if A has its structure: the same canonical SMILES, or the same bits where there are no
    structures. It is a near duplicate if it is not identical and its nearest item of A has a similarity ≥ the
    threshold. It is novel otherwise.

    Attributes:
        a: The first set.
        b: The second set.
        threshold: Lowest similarity of a pair and of a near duplicate.
        pair_count: Number of pairs across both sets with similarity ≥ threshold.
        left: (n,) int64 position in A of the nearest item, or of the identical one, for each of the n records of B; -1
            if no item of A shares a bit with it.
        similarity: (n,) float64 similarity of that item.
        relation: (n,) int8 index into `RELATIONS`; -1 for a rejected record.

    Example:
        ```python
        comparison = graphkin.compare(["CCO", "CCN"], ["OCC", "CCCCO"], 0.3)
        print(comparison.summary["novel_share"], comparison.nearest.to_pandas())
        ```
    """

    a: ComparedSet
    b: ComparedSet
    threshold: float
    pair_count: int
    left: Int64
    similarity: Float64
    relation: NDArray[np.int8]

    @property
    def nearest(self) -> Table:
        """The nearest item of A for each readable record of B, whatever the threshold, in the order of B.

        The columns are right int32, the position in B; right_name and right_smiles; relation; similarity float64; left
        int32, the position in A; left_name and left_smiles. A set without names or structures lacks these columns. An
        item that shares no bit with any item of A has nulls.
        """
        return Table(pa.concat_tables(self.nearest_tables()))

    @property
    def overlap(self) -> Table:
        """The rows of `nearest` whose item of B is identical to an item of A."""
        return Table(self._rows(np.flatnonzero(self.relation == IDENTICAL)))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The counts, as values that JSON can hold.

        `a` and `b` have the numbers of records, rejected records, items (the other records) and distinct items.
        `fingerprint` is the type of the fingerprints in the notation of chemfp. `pairs` counts the pairs with a
        similarity ≥ `threshold`. `identical`, `near_duplicates` and `novel` divide the items of B, and `novel_share` is
        the share of the last. `histogram` counts the items of B by the similarity of their nearest item: from min,
        below max, and 1 in the last interval.
        """
        relations = [int(np.count_nonzero(self.relation == code)) for code in range(len(RELATIONS))]
        return {
            "a": self.a.counts,
            "b": self.b.counts,
            "fingerprint": self.a.fingerprint or self.b.fingerprint,
            "threshold": self.threshold,
            "pairs": self.pair_count,
            "identical": relations[IDENTICAL],
            "near_duplicates": relations[NEAR_DUPLICATE],
            "novel": relations[NOVEL],
            "novel_share": relations[NOVEL] / sum(relations) if sum(relations) else None,
            "histogram": self._histogram(),
        }

    def _histogram(self) -> list[dict[str, float | int]]:
        edges = np.arange(_BINS + 1) / _BINS  # the float64 that a quotient of integers such as 7 / 20 has
        counts, _ = np.histogram(self.similarity[self.relation != _REJECTED], edges)
        bounds = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        return [{"min": low, "max": high, "items": count} for low, high, count in bounds]

    def nearest_tables(self) -> Iterator[pa.Table]:
        """Yield the rows of `nearest` in several tables, which need less memory than one.

        Yields:
            At least one table of at most 65,536 rows.
        """
        right = np.flatnonzero(self.relation != _REJECTED)
        for start in range(0, max(len(right), 1), _ROWS):
            yield self._rows(right[start : start + _ROWS])

    def _closest(self) -> pa.Table:
        """Return the rows of `nearest` with the highest similarity among those that are not identical."""
        right = np.flatnonzero((self.relation > IDENTICAL) & (self.left >= 0))
        return self._rows(right[np.argsort(-self.similarity[right], kind="stable")[:_EXAMPLES]])

    def _most_novel(self) -> pa.Table:
        """Return the rows of `nearest` with the lowest similarity among those that are novel."""
        right = np.flatnonzero(self.relation == NOVEL)
        return self._rows(right[np.argsort(self.similarity[right], kind="stable")[:_EXAMPLES]])

    def _rows(self, right: Int64) -> pa.Table:
        """Return the rows of `nearest` for the records at the positions `right` in B, (n,) int64."""
        is_missing = self.left[right] < 0
        left = pa.array(self.left[right].astype(np.int32), mask=is_missing)
        return pa.table(
            {
                "right": pa.array(right.astype(np.int32)),
                **self.b.columns("right", pa.array(right), "name", "smiles"),
                "relation": pa.array(RELATIONS).take(pa.array(self.relation[right])),
                "similarity": pa.array(self.similarity[right], mask=is_missing),
                "left": left,
                **self.a.columns("left", left, "name", "smiles"),
            }
        )

    def to_html(self, a: str = "A", b: str = "B") -> str:
        """Return a report as one HTML page: counts, the histogram, and the closest and the most novel items, depicted.

        The page needs no other file and no network, and all text in it is escaped.

        Args:
            a: Name of the first set in the report.
            b: Name of the second set.

        Returns:
            The page.

        Example:
            ```python
            Path("report.html").write_text(comparison.to_html("catalog", "candidates"))
            ```
        """
        closest, most_novel = (table.to_pylist() for table in (self._closest(), self._most_novel()))
        return render(self.summary, closest, most_novel, a, b)

    def __repr__(self) -> str:
        counts = self.summary
        return (
            f"{type(self).__name__}({counts['b']['items']:,} items of B: {counts['identical']:,} identical, "
            f"{counts['near_duplicates']:,} near duplicates ≥ {self.threshold:g}, {counts['novel']:,} novel)"
        )


class ComparisonRun:
    """Compares two sets with fingerprints of the same length. The memory does not grow with the number of pairs.

    Args:
        a: The first set.
        b: The second set.
        threshold: Lowest similarity of a pair, above 0 and at most 1.
        threads: Number of threads.
        progress: Receives the progress.
    """

    def __init__(self, a: ComparedSet, b: ComparedSet, threshold: float, threads: int, progress: Progress) -> None:
        self._a, self._b, self._threshold = a, b, threshold
        self._threads, self._progress = threads, progress
        self._left, self._similarity = np.full(len(b), -1, np.int64), np.zeros(len(b))
        self._pair_count = 0
        self._search = TwoSetComparison(a.words)

    def pair_tables(self, top_k: int | None = None) -> Iterator[pa.Table]:
        """Compare the sets, and yield the pairs in at least one table, in the order of B, the most similar ones first.

        The columns are left int32, right int32, similarity float64, and left_name and right_name if the sets have
        names.

        Args:
            top_k: Number of pairs per item of B, the most similar ones; None for all.
        """
        start = 0
        yield self._pair_table(Pairs.concatenate([]))
        with self._progress.stage("compare", len(self._b), "items") as advance:
            for block in self._search.blocks(self._b.words, self._threshold, self._threads, advance):
                stop = start + len(block.nearest)
                self._left[start:stop], self._similarity[start:stop] = block.nearest, block.similarity
                self._pair_count, start = self._pair_count + len(block.pairs), stop
                yield self._pair_table(block.pairs if top_k is None else keep_nearest(block.pairs, top_k))

    def result(self) -> Comparison:
        """Return the comparison. It is complete only after all of `pair_tables` has been read."""
        a, b, left, similarity = self._a, self._b, self._left, self._similarity
        identical = np.asarray(pc.fill_null(pc.index_in(b.identities, a.identities, skip_nulls=True), -1), np.int64)
        is_identical = identical >= 0
        left[is_identical] = identical[is_identical]
        similarity[is_identical] = self._search.similarities(b.words[is_identical], left[is_identical])
        relation = relate(is_identical, similarity, self._threshold)
        relation[b.rejected] = _REJECTED
        return Comparison(a, b, self._threshold, self._pair_count, left, similarity, relation)

    def _pair_table(self, pairs: Pairs) -> pa.Table:
        columns = {name: pa.array(getattr(pairs, name)) for name in ("left", "right", "similarity")}
        names = {
            **self._a.columns("left", columns["left"], "name"),
            **self._b.columns("right", columns["right"], "name"),
        }
        return pa.table({**columns, **names})
