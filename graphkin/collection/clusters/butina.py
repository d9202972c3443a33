"""Taylor and Butina's clusters."""

from collections.abc import Iterable, Iterator

import numpy as np

from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.errors import InvalidInput, require
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance
from graphkin.similarity.kinds import kind_of
from graphkin.store.base import Generation
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, UInt64


def butina(
    generation: Generation,
    threshold: float,
    threads: int,
    advance: Advance = lambda _: None,
    most_pairs: int | None = None,
) -> Clusters:
    """Taylor and Butina's clusters: the item with most neighbours and these, then the same of what is left.

    Neighbours are all items with similarity ≥ threshold, in (0, 1], whatever the hierarchy's own threshold and cap;
    they are counted once, before any is taken. Among items of equally many the content decides, not the place in a
    file. Raises `InvalidInput`, also where more pairs than `most_pairs` are so similar.
    """
    require(0 < threshold <= 1, "threshold", threshold, "a similarity above 0 and at most 1")
    kind = kind_of(generation)
    wanted = {"threshold": threshold, "top_k": 0, "candidates": "exact", "ties": "hash"}
    recipe = kind.recipe(generation.manifest.recipe).model_copy(update=wanted)
    descriptors = kind.descriptors_of(generation, recipe, kind.digests(generation, recipe))
    pairs = descriptors.pairs(0, threads, advance)
    return taylor_butina(pairs if most_pairs is None else _at_most(most_pairs, pairs), descriptors.tie)


def taylor_butina(pairs: Iterable[Pairs], tie: UInt64) -> Clusters:
    """Of similar pairs of N items, each once, ranked among equals by `tie` (N,), the highest first."""
    left, right = (np.concatenate([np.empty(0, np.int32), *ends]) for ends in _ends(pairs))
    neighbours = np.bincount(left, minlength=len(tie)) + np.bincount(right, minlength=len(tie))
    order = np.lexsort((tie, neighbours))[::-1].astype(np.int32)
    return Clusters.of(*_taken(left, right, neighbours, order))


def _at_most(most: int, pairs: Iterable[Pairs]) -> Iterator[Pairs]:
    count = 0
    for each in pairs:
        count += len(each.left)
        if count > most:
            raise InvalidInput(
                "too many pairs of items are as similar as this threshold",
                given=f"more than {most:,}",
                expected=f"at most {most:,}",
                hint="a higher threshold has fewer",
            )
        yield each


def _ends(pairs: Iterable[Pairs]) -> tuple[list[Int32], list[Int32]]:
    left, right = list[Int32](), list[Int32]()
    for each in pairs:
        left.append(each.left)
        right.append(each.right)
    return left, right


@kernel
def _taken(left: Int32, right: Int32, neighbours: Int64, order: Int32) -> tuple[Int32, Int32]:
    """Label of each item and centre of each cluster, in the order in which they are taken."""
    starts = np.zeros(len(neighbours) + 1, np.int64)
    for item in range(len(neighbours)):
        starts[item + 1] = starts[item] + neighbours[item]
    others = np.empty(starts[-1], np.int32)
    free = starts[:-1].copy()
    for pair in range(len(left)):
        others[free[left[pair]]] = right[pair]
        others[free[right[pair]]] = left[pair]
        free[left[pair]] += 1
        free[right[pair]] += 1
    label = np.full(len(neighbours), -1, np.int32)
    centre = np.empty(len(neighbours), np.int32)
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
