"""Exact join of Weisfeiler-Lehman features without a size limit: all pairs of graphs are compared."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.wl import Features, normalize
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance
from graphkin.similarity.threads import run_in_order
from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32, Int64

_ROWS_PER_TASK = 256
_SLACK = 1 - 1e-9  # more than the rounding error of a similarity


def similar_pairs(
    features: Features, threshold: float, first_task: int, threads: int, advance: Advance
) -> Iterator[Pairs]:
    """Yield all pairs of graphs with similarity ≥ threshold and above 0, one block per task.

    Each task computes the kernel values of some graphs with all later ones from an inverted index. Its time is the
    number of subtrees that such pairs share, which grows with the square of the number of graphs. Its memory is 4 bytes
    per graph.

    Args:
        features: Features of N graphs.
        threshold: Lowest similarity of a pair.
        first_task: First task to run.
        threads: Number of threads.
        advance: Called with the number of graphs that each task counts for, including tasks before `first_task`.
    """
    shared = features.shared
    index = SubtreeIndex.from_features(shared)
    entry = np.empty(len(shared.subtree), np.int64)  # position of each feature in the index
    entry[np.argsort(shared.subtree, kind="stable")] = np.arange(len(entry))
    last = np.repeat(index.starts[1:], np.diff(index.starts))  # end of the list of each position
    rows = [range(len(features))[start : start + _ROWS_PER_TASK] for start in range(0, len(features), _ROWS_PER_TASK)]
    advance(sum(map(len, rows[:first_task])))
    square = features.square
    arrays = (shared.indptr, entry, last[entry], index.graph, index.times, np.sqrt(square))
    calls = (partial(_similar_in_rows, *arrays, each.start, each.stop, threshold) for each in rows[first_task:])
    for each, (left, right, product) in zip(rows[first_task:], run_in_order(calls, threads), strict=True):
        similarity = normalize(product.astype(np.float64), square[left], square[right])
        mask = similarity >= threshold
        yield Pairs(left[mask], right[mask], similarity[mask])
        advance(len(each))


@kernel
def _similar_in_rows(
    indptr: Int64,
    entry: Int64,
    last: Int64,
    graph: Int32,
    times: Int32,
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
        norm: Square root of the kernel value of each graph with itself.
        begin: First graph.
        stop: End of the graphs.
        threshold: Lowest similarity.
    """
    product = np.zeros(len(norm), np.int32)  # 10,000 nodes that share all subtrees of 21 levels make 2.1e9
    left, right, value = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32)
    count = 0
    for row in range(begin, stop):
        for feature in range(indptr[row], indptr[row + 1]):
            own = times[entry[feature]]
            for position in range(entry[feature] + 1, last[feature]):
                product[graph[position]] += own * times[position]
        least = threshold * norm[row] * _SLACK
        for other in range(row + 1, len(norm)):
            if product[other] > 0 and product[other] >= least * norm[other]:
                if count == len(left):
                    left = np.concatenate((left, np.empty_like(left)))
                    right = np.concatenate((right, np.empty_like(right)))
                    value = np.concatenate((value, np.empty_like(value)))
                left[count], right[count], value[count] = row, other, product[other]
                count += 1
            product[other] = 0
    return left[:count].copy(), right[:count].copy(), value[:count].copy()
