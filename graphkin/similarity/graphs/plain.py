"""The Weisfeiler-Lehman kernel of weighted nodes in plain Python, the reference for the built-in one."""

from collections import defaultdict
from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from graphkin.similarity.graphs.recipe import StructureRecipe
from graphkin.similarity.graphs.reference import adjacency, initial_labels
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import WEIGHT_SCALE
from graphkin.store.records import Float64, Int32


class PlainKernel:
    """Weisfeiler-Lehman similarities among a set of graphs with weighted nodes.

    Subtrees are numbered in one table for all graphs, not hashed.

    Args:
        structures: The graphs.
        recipe: Labels and iterations.
    """

    def __init__(self, structures: Sequence[Structure], recipe: StructureRecipe) -> None:
        self._subtrees: dict[tuple[Any, ...], int] = {}
        self._features = [self._count(structure, recipe) for structure in structures]

    def similarities(self, a: Int32, b: Int32) -> Float64:
        """Return (P,) similarities of pairs of graphs, whose indices in `structures` are `a` and `b`, (P,) each."""
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        return np.array([self._similarity(self._features[left], self._features[right]) for left, right in pairs])

    def _similarity(self, a: dict[int, int], b: dict[int, int]) -> float:
        product = sum(count * b.get(subtree, 0) for subtree, count in a.items())
        squares = (sum(count**2 for count in counts.values()) for counts in (a, b))
        return product / sqrt(next(squares) * next(squares))

    def _count(self, structure: Structure, recipe: StructureRecipe) -> dict[int, int]:
        """Return the count of each subtree by its number: WEIGHT_SCALE · √(its share of all weight), rounded."""
        weights, neighbors = structure.weights or (), adjacency(structure)
        labels = [self._number(0, label) for label in initial_labels(structure, recipe)]
        weight_of: defaultdict[int, int] = defaultdict(int)
        for level in range(recipe.iterations + 1):
            if level:
                labels = [
                    self._number(level, labels[node], *sorted(labels[neighbor] for neighbor in neighbors[node]))
                    for node in range(structure.nodes)
                ]
            for label, weight in zip(labels, weights, strict=True):
                weight_of[label] += weight
        return {label: round(WEIGHT_SCALE * sqrt(weight / sum(weights))) for label, weight in weight_of.items()}

    def _number(self, *subtree: Any) -> int:
        return self._subtrees.setdefault(subtree, len(self._subtrees))
