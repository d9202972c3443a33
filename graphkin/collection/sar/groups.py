"""The groups at one R position of a series, numbered from the most frequent one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphkin.store.records import Int64


class RankedGroups(NamedTuple):
    """The distinct groups at one R position.

    Attributes:
        groups: The groups as SMILES, the most frequent one first. Ties are ordered by SMILES.
        counts: (g,) int64, the number of compounds with each group.
        number: (n,) int64, the group of each compound, as its index in `groups`.
    """

    groups: list[str]
    counts: Int64
    number: Int64


def rank_groups(groups: Sequence[str]) -> RankedGroups:
    """Return the distinct groups at one R position.

    Args:
        groups: The group of each compound at this position, as SMILES.
    """
    distinct, number, counts = np.unique(np.array(groups, dtype=np.str_), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return RankedGroups(distinct[order].tolist(), counts[order], rank[number])
