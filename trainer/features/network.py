"""One big graph in the form that random walks read."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Network:
    """A simple undirected graph of V nodes, numbered from 0.

    Attributes:
        indptr: (V + 1,) int64. Neighbors of node v are indices[indptr[v]] to indices[indptr[v + 1] - 1], ascending.
        indices: (2 E,) int64. Neighbors, node by node.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]

    @classmethod
    def from_edges(cls, edges: NDArray[np.integer[Any]], size: int) -> Self:
        """Build the graph from its edges (E, 2), each listed once, in any order and direction, without loops."""
        owner, neighbor = np.concatenate([edges, edges[:, ::-1]]).astype(np.int64).T
        order = np.lexsort((neighbor, owner))
        ends = np.cumsum(np.bincount(owner, minlength=size))
        return cls(np.concatenate([np.zeros(1, np.int64), ends]), neighbor[order])

    @property
    def size(self) -> int:
        """The number of nodes, V."""
        return len(self.indptr) - 1

    @cached_property
    def degree(self) -> Nodes:
        """The degree of each node, (V,)."""
        return np.diff(self.indptr)

    @cached_property
    def _edge_keys(self) -> NDArray[np.int64]:
        """Both directions of every edge as one number each, ascending, and a sentinel that matches no edge."""
        owner = np.repeat(np.arange(self.size), self.degree)
        return np.append(owner * self.size + self.indices, np.iinfo(np.int64).max)

    def joins(self, source: Nodes, target: Nodes) -> NDArray[np.bool_]:
        """Return whether each pair of nodes is joined by an edge, (n,)."""
        keys = source * self.size + target
        is_edge: NDArray[np.bool_] = self._edge_keys[np.searchsorted(self._edge_keys, keys)] == keys
        return is_edge

    def neighbor(self, nodes: Nodes, choice: NDArray[np.float64]) -> Nodes:
        """Return a uniformly chosen neighbor of each node, (n,), by `choice` in [0, 1). No node is isolated."""
        degree = self.degree[nodes]
        return self.indices[self.indptr[nodes] + np.minimum((choice * degree).astype(np.int64), degree - 1)]
