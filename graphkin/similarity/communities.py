"""Communities of a similarity graph, and the fewest items that separate a set of them from the others."""

import numpy as np

from graphkin.protocol.errors import require_extra
from graphkin.similarity.separation import TEST, TRAINING, Int8
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, Mask

_SWEEPS = 10


def communities(indptr: Int64, indices: Int32, side: Int8, max_size: int) -> tuple[Int64, Int64]:
    """Return the communities of the items in `TRAINING`, the best separated first.

    Size-constrained label propagation (Meyerhenke, Sanders and Schulz, 2014) finds them: each item joins the community
    with the most of its neighbors that still has room. They are ordered by the number of their neighbors outside
    divided by their size.

    Args:
        indptr: (N + 1,) int64 starts of the neighbor lists.
        indices: int32 neighbor lists.
        side: (N,) int8 sides.
        max_size: Maximum number of items of a community.

    Returns:
        The items by community, and where each community ends.
    """
    label = _propagate(indptr, indices, side, max_size)
    items = np.flatnonzero(side == TRAINING)
    items = items[np.argsort(label[items], kind="stable")]
    starts = np.flatnonzero(np.diff(label[items], prepend=-1))
    sizes = np.diff(starts, append=len(items))
    order = np.argsort(_count_outside(indptr, indices, side, label, items, starts) / sizes, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return items[np.argsort(np.repeat(rank, sizes), kind="stable")], np.cumsum(sizes[order])


def minimum_cover(indptr: Int64, indices: Int32, side: Int8) -> Mask:
    """Return the fewest items without which no item in `TEST` has a neighbor in `TRAINING`, (N,) bool.

    By the theorem of Kőnig, a maximum matching of the pairs across has as many pairs as this cover has items.

    Args:
        indptr: (N + 1,) int64 starts of the neighbor lists.
        indices: int32 neighbor lists.
        side: (N,) int8 sides.

    Raises:
        InvalidInput: SciPy is not installed.
    """
    with require_extra("sklearn", "the method min-discard needs"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_bipartite_matching

    test = np.flatnonzero(side == TEST)
    starts, others = _pairs_across(indptr, indices, side, test)
    across = csr_array((np.ones(len(others), np.int8), others, starts), shape=(len(test), len(side)))
    partner = maximum_bipartite_matching(across, perm_type="column")
    return _cover_from_matching(starts, others, test, partner.astype(np.int64), len(side))


@kernel
def _propagate(indptr: Int64, indices: Int32, side: Int8, max_size: int) -> Int32:
    """Return the community of each item, (N,) int32. Only those of items in the training set are of use."""
    label = np.arange(len(side)).astype(np.int32)
    sizes = np.ones(len(side), np.int64)
    count = np.zeros(len(side), np.int32)  # neighbors in each community, zero between items
    for _ in range(_SWEEPS):
        moved = 0
        for item in range(len(side)):
            if side[item] == TRAINING:
                best = _best_community(
                    indices[indptr[item] : indptr[item + 1]], side, label, sizes, count, max_size, item
                )
                moved += best != label[item]
                sizes[label[item]] -= 1
                sizes[best] += 1
                label[item] = best
        if moved == 0:
            break
    return label


@kernel
def _best_community(
    neighbors: Int32, side: Int8, label: Int32, sizes: Int64, count: Int32, max_size: int, item: int
) -> int:
    """Return the community with the most neighbors of an item that has room. Among equals, the lowest label wins."""
    for other in neighbors:
        if side[other] == TRAINING:
            count[label[other]] += 1
    best = label[item]
    for other in neighbors:
        community = label[other]
        is_better = count[community] > count[best] or (count[community] == count[best] and community < best)
        if side[other] == TRAINING and is_better and sizes[community] < max_size:
            best = community
    for other in neighbors:
        count[label[other]] = 0
    return best


@kernel
def _count_outside(indptr: Int64, indices: Int32, side: Int8, label: Int32, items: Int64, starts: Int64) -> Int64:
    """Return the number of neighbors outside of each community, (C,) int64."""
    result = np.zeros(len(starts), np.int64)
    seen = np.full(len(side), -1, np.int64)
    for community in range(len(starts)):
        stop = starts[community + 1] if community + 1 < len(starts) else len(items)
        for place in range(starts[community], stop):
            item = items[place]
            for at in range(indptr[item], indptr[item + 1]):
                other = indices[at]
                if side[other] == TRAINING and label[other] != label[item] and seen[other] != community:
                    seen[other] = community
                    result[community] += 1
    return result


@kernel
def _pairs_across(indptr: Int64, indices: Int32, side: Int8, test: Int64) -> tuple[Int64, Int32]:
    """Return the neighbors of each test item in the training set, in CSR form."""
    starts = np.zeros(len(test) + 1, np.int64)
    for row in range(len(test)):
        starts[row + 1] = starts[row]
        for at in range(indptr[test[row]], indptr[test[row] + 1]):
            starts[row + 1] += side[indices[at]] == TRAINING
    others = np.empty(starts[-1], np.int32)
    place = 0
    for row in range(len(test)):
        for at in range(indptr[test[row]], indptr[test[row] + 1]):
            if side[indices[at]] == TRAINING:
                others[place] = indices[at]
                place += 1
    return starts, others


@kernel
def _cover_from_matching(starts: Int64, others: Int32, test: Int64, partner: Int64, items: int) -> Mask:
    """Return the minimum cover for a maximum matching.

    Alternating paths start at unmatched test items. The cover consists of the test items that they do not reach, and
    of the training items that they reach.

    Args:
        starts: (T + 1,) int64 starts of the training neighbors of each test item.
        others: int32 training neighbors.
        test: (T,) int64 test items.
        partner: (T,) int64 training item that each test item is matched with, or -1.
        items: Number of items.
    """
    row_of = np.full(items, -1, np.int64)
    reached = partner < 0
    stack = np.empty(len(test), np.int64)
    depth = 0
    for row in range(len(test)):
        if partner[row] >= 0:
            row_of[partner[row]] = row
        else:
            stack[depth] = row
            depth += 1
    cover = np.zeros(items, np.bool_)
    while depth:
        depth -= 1
        row = stack[depth]
        for at in range(starts[row], starts[row + 1]):
            cover[others[at]] = True
            following = row_of[others[at]]  # every reached training item is matched, or the matching could grow
            if not reached[following]:
                reached[following] = True
                stack[depth] = following
                depth += 1
    for row in range(len(test)):
        if not reached[row]:
            cover[test[row]] = True
    return cover
