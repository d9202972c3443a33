"""Relations of the items of a second set to a first set: identical, near duplicate or novel."""

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.values import Relation
from graphkin.store.records import Float64, Mask

RELATIONS: tuple[Relation, ...] = get_args(Relation)
"""The relations in the order of their codes."""

IDENTICAL, NEAR_DUPLICATE, NOVEL = range(len(RELATIONS))


def relate(is_identical: Mask, similarity: Float64, threshold: float) -> NDArray[np.int8]:
    """Return the relation of each item of the second set, (n,) int8 index into `RELATIONS`.

    Args:
        is_identical: (n,) whether the first set has the same structure.
        similarity: (n,) similarity of the nearest item of the first set.
        threshold: Lowest similarity of a near duplicate.
    """
    other = np.where(similarity >= threshold, NEAR_DUPLICATE, NOVEL)
    return np.where(is_identical, IDENTICAL, other).astype(np.int8)
