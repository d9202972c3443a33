"""Exact join of Weisfeiler-Lehman features without a size limit: all pairs of graphs are compared."""

from collections.abc import Iterator
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.wl import Features, normalize
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance
from graphkin.similarity.threads import run_in_order
from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32, Int64

Int16: TypeAlias = NDArray[np.int16]

_ROWS_PER_TASK = 256
_PAIRS_PER_TASK = 1 << 24  # at most, which bounds the memory of a task
_COMMON = 8  # a subtree in more than 1/8 of the graphs is common: its counts are stored for all graphs
_SECONDS_PER_PRODUCT = (3e-9, 2e-10)  # benchmarks/node_join.py, for products from the index and in dense columns
_SECONDS_PER_PAIR = 3e-9
_SLACK = 1 - 1e-9  # lowers the threshold by more than the rounding error; `task_pairs` applies the exact one


class SubtreeJoin:
    """All pairs of graphs with similarity ≥ threshold and above 0, computed in independent tasks.

    Each task computes the kernel values of some graphs with all later ones. Common subtrees are multiplied in dense
    columns, many at a time by vector instructions, and other ones are found in an inverted index. A task needs 8 bytes
    per graph, and memory for its pairs.

    Args:
        features: Features of N graphs.
        threshold: Lowest similarity of a pair.
    """

    def __init__(self, features: Features, threshold: float) -> None:
        shared = features.shared
        index = SubtreeIndex.from_features(shared)
        entry = np.empty(len(shared.subtree), np.int64)  # position of each feature in the index
        entry[np.argsort(shared.subtree, kind="stable")] = np.arange(len(entry))
        last = np.repeat(index.starts[1:], np.diff(index.starts))  # end of the list of each position
        self._square, self._threshold = features.square, threshold
        columns, column_of = _common_columns(index, len(features))
        column = column_of[np.searchsorted(index.subtrees, shared.subtree)]
        norm = np.sqrt(self._square)
        self._arrays = (shared.indptr, entry, last[entry], index.graph, index.times, column, columns, norm)
        lengths = np.diff(index.starts)
        rare = lengths[column_of < 0]
        dense_steps = lengths[column_of >= 0].sum() * len(features)
        self.steps = (int((rare * (rare - 1)).sum()) // 2, int(dense_steps) // 2)
        """Numbers of products: of counts from the index, and of counts in dense columns, which take less time."""
        self.seconds = _SECONDS_PER_PAIR * len(features) ** 2 / 2 + float(np.dot(_SECONDS_PER_PRODUCT, self.steps))
        """Approximate time of all tasks in one thread."""
        rows = min(_ROWS_PER_TASK, _PAIRS_PER_TASK // len(features) + 1)
        self.tasks = [range(len(features))[start : start + rows] for start in range(0, len(features), rows)]
        """The graphs of each task."""

    def task_pairs(self, graphs: range) -> Pairs:
        """Return the pairs of a task: each one joins a graph of the task and a later graph."""
        left, right, product = _similar_in_rows(*self._arrays, graphs.start, graphs.stop, self._threshold)
        similarity = normalize(product.astype(np.float64), self._square[left], self._square[right])
        mask = similarity >= self._threshold
        return Pairs(left[mask], right[mask], similarity[mask])

    def pairs(self, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        """Yield the pairs of each task.

        Args:
            first_task: First task to run.
            threads: Number of threads.
            advance: Called with the number of graphs that each task counts for, including tasks before `first_task`.
        """
        advance(sum(map(len, self.tasks[:first_task])))
        calls = (partial(self.task_pairs, graphs) for graphs in self.tasks[first_task:])
        for graphs, pairs in zip(self.tasks[first_task:], run_in_order(calls, threads), strict=True):
            yield pairs
            advance(len(graphs))


def _common_columns(index: SubtreeIndex, graphs: int) -> tuple[Int16, Int32]:
    """Return the counts of the C common subtrees in all graphs, (C, N) int16, and the row of each subtree, or -1."""
    lengths = np.diff(index.starts)
    common = np.flatnonzero(lengths * _COMMON > graphs)
    column_of = np.full(len(lengths), -1, np.int32)
    column_of[common] = np.arange(len(common), dtype=np.int32)
    columns = np.zeros((len(common), graphs), np.int16)
    for row, subtree in enumerate(common):
        entries = slice(index.starts[subtree], index.starts[subtree + 1])
        columns[row, index.graph[entries]] = index.times[entries]
    return columns, column_of


@kernel
def _similar_in_rows(
    indptr: Int64,
    entry: Int64,
    last: Int64,
    graph: Int32,
    times: Int32,
    column: Int32,
    columns: Int16,
    norm: Float64,
    begin: int,
    stop: int,
    threshold: float,
) -> tuple[Int32, Int32, Int32]:
    """Return the graphs [begin, stop), the later graphs that may be similar, and the kernel values.

    Args:
        indptr: Offsets of the features of each graph in `entry` and `last`.
        entry: Position of each feature in the index. The positions of later graphs follow it.
        last: End of these positions.
        graph: Graph at each position of the index.
        times: Count at each position of the index.
        column: Row of each feature in `columns`, or -1.
        columns: Counts of common subtrees in all graphs. They fit into 16 bits, as graphs have at most 10,000 nodes.
        norm: Square root of the kernel value of each graph with itself.
        begin: First graph.
        stop: End of the graphs.
        threshold: Lowest similarity.
    """
    product = np.zeros(len(norm), np.int32)  # 10,000 nodes that share all subtrees of 21 levels make 2.1e9
    hits = np.empty(len(norm), np.int32)
    left, right, value = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32)
    count = 0
    for row in range(begin, stop):
        for feature in range(indptr[row], indptr[row + 1]):
            own = times[entry[feature]]
            if column[feature] >= 0:
                _add_multiple(product[row + 1 :], columns[column[feature]][row + 1 :], own)
            else:
                for position in range(entry[feature] + 1, last[feature]):
                    product[graph[position]] += own * times[position]
        similar = _find_similar(product, norm, row, threshold * norm[row] * _SLACK, hits)
        while count + similar > len(left):
            left = np.concatenate((left, np.empty_like(left)))
            right = np.concatenate((right, np.empty_like(right)))
            value = np.concatenate((value, np.empty_like(value)))
        left[count : count + similar] = row
        right[count : count + similar] = hits[:similar]
        value[count : count + similar] = product[hits[:similar]]
        product[row + 1 :] = 0
        count += similar
    return left[:count].copy(), right[:count].copy(), value[:count].copy()


@kernel
def _add_multiple(product: Int32, counts: Int16, factor: int) -> None:
    """Add factor · counts to the products. In a function of its own, the loop is compiled to vector instructions."""
    for place in range(len(product)):
        product[place] += factor * np.int32(counts[place])


@kernel
def _find_similar(product: Int32, norm: Float64, row: int, least: float, hits: Int32) -> int:
    """Find the graphs after `row` whose product is above 0 and at least least · norm, and return their number."""
    count = 0
    for other in range(row + 1, len(norm)):
        if product[other] > 0 and product[other] >= least * norm[other]:
            hits[count] = other
            count += 1
    return count
