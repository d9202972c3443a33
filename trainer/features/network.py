"""One big graph, as walks go over it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Network:
    """A simple undirected graph of V nodes, numbered from 0.

    indptr (V + 1,), indices (2 E,) int64: node v has the neighbours indices[indptr[v]] to indices[indptr[v + 1] - 1],
    ascending.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]

    @classmethod
    def of(cls, edges: NDArray[np.integer[Any]], size: int) -> Self:
        """From its edges (E, 2), each once, in any order and direction; no loops."""
        owner, neighbor = np.concatenate([edges, edges[:, ::-1]]).astype(np.int64).T
        order = np.lexsort((neighbor, owner))
        ends = np.cumsum(np.bincount(owner, minlength=size))
        return cls(np.concatenate([np.zeros(1, np.int64), ends]), neighbor[order])

    @property
    def size(self) -> int:
        """V"""
        return len(self.indptr) - 1

    @cached_property
    def degree(self) -> Nodes:
        """(V,)"""
        return np.diff(self.indptr)

    @cached_property
    def _joined(self) -> NDArray[np.int64]:
        """Both directions of every edge as one number each, ascending, and a last one that is none."""
        owner = np.repeat(np.arange(self.size), self.degree)
        return np.append(owner * self.size + self.indices, np.iinfo(np.int64).max)

    def joins(self, one: Nodes, other: Nodes) -> NDArray[np.bool_]:
        """(n,): whether these two nodes are neighbours."""
        keys = one * self.size + other
        found: NDArray[np.bool_] = self._joined[np.searchsorted(self._joined, keys)] == keys
        return found

    def neighbor(self, nodes: Nodes, choice: NDArray[np.float64]) -> Nodes:
        """(n,): of each of these nodes, none of them isolated, the neighbour that choice, in [0, 1), chooses evenly."""
        degree = self.degree[nodes]
        return self.indices[self.indptr[nodes] + np.minimum((choice * degree).astype(np.int64), degree - 1)]
