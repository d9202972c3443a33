"""Taylor-Butina clustering (Taylor, 1995; Butina, 1999)."""

from collections.abc import Iterable, Iterator

import numpy as np

from graphkin.collection.clusters.neighbor_pairs import neighbor_pairs
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.complete import exact_descriptors
from graphkin.protocol.errors import InvalidInput, require
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, UInt64


def butina_clusters(
    generation: Generation,
    threshold: float,
    threads: int,
    advance: Advance = lambda _: None,
    max_pairs: int | None = None,
) -> Clusters:
    """Cluster all items by the algorithm of Taylor and Butina.

    The item with the most neighbors and its neighbors form the first cluster. The next clusters are formed in the same
    way from the items that remain. Neighbors are all items with similarity ≥ `threshold`, so the threshold and the
    top-k limit of the similarity graph do not matter. They are counted once, before the first cluster. Ties are broken
    by the content of items, so the order of the input does not matter.

    Args:
        generation: The generation.
        threshold: The lowest similarity of neighbors, in (0, 1].
        threads: The number of threads of the join.
        advance: A function that is called with the number of items that are done.
        max_pairs: The largest accepted number of similar pairs. None means any number.

    Raises:
        InvalidInput: The threshold is out of range, or there are more than `max_pairs` similar pairs.
    """
    require(
        0 < threshold <= 1,
        "threshold",
        threshold,
        "a similarity above 0 and at most 1",
        hint="choose a threshold such as 0.6",
    )
    descriptors = exact_descriptors(generation, threshold)
    pairs = neighbor_pairs(generation, descriptors, threshold, threads, advance)
    return clusters_from_pairs(pairs if max_pairs is None else _limit(pairs, max_pairs), descriptors.tie)


def clusters_from_pairs(pairs: Iterable[Pairs], tie: UInt64) -> Clusters:
    """Cluster N items by the algorithm of Taylor and Butina.

    Args:
        pairs: All pairs of neighbors, each once.
        tie: (N,) numbers that break ties: the highest comes first.
    """
    left, right = (np.concatenate([np.empty(0, np.int32), *ends]) for ends in _ends(pairs))
    neighbors = np.bincount(left, minlength=len(tie)) + np.bincount(right, minlength=len(tie))
    order = np.lexsort((tie, neighbors))[::-1].astype(np.int32)
    return Clusters.from_labels(*_assign(left, right, neighbors, order))


def _limit(pairs: Iterable[Pairs], most: int) -> Iterator[Pairs]:
    """Yield the pairs. Raise `InvalidInput` if there are more than `most`."""
    count = 0
    for each in pairs:
        count += len(each.left)
        if count > most:
            raise InvalidInput(
                "too many pairs of items reach this threshold",
                given=f"more than {most:,}",
                expected=f"at most {most:,} pairs",
                hint="raise the threshold",
            )
        yield each


def _ends(pairs: Iterable[Pairs]) -> tuple[list[Int32], list[Int32]]:
    """Return the left and the right ends of all pairs, as one array per block."""
    left, right = list[Int32](), list[Int32]()
    for each in pairs:
        left.append(each.left)
        right.append(each.right)
    return left, right


@kernel
def _assign(left: Int32, right: Int32, neighbors: Int64, order: Int32) -> tuple[Int32, Int32]:
    """Return the cluster of each item and the center of each cluster, in the order in which the clusters are formed."""
    starts = np.zeros(len(neighbors) + 1, np.int64)
    for item in range(len(neighbors)):
        starts[item + 1] = starts[item] + neighbors[item]
    others = np.empty(starts[-1], np.int32)
    free = starts[:-1].copy()
    for pair in range(len(left)):
        others[free[left[pair]]] = right[pair]
        others[free[right[pair]]] = left[pair]
        free[left[pair]] += 1
        free[right[pair]] += 1
    label = np.full(len(neighbors), -1, np.int32)
    centre = np.empty(len(neighbors), np.int32)
    clusters = 0
    for item in order:
        if label[item] >= 0:
            continue
        label[item] = clusters
        for place in range(starts[item], starts[item + 1]):
            if label[others[place]] < 0:
                label[others[place]] = clusters
        centre[clusters] = item
        clusters += 1
    return label, centre[:clusters]
