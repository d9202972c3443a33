"""Attribute-less graphs in columns: simple and undirected, many at a time."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from store.records import Int32, Int64


@dataclass(frozen=True)
class Graphs:
    """N graphs with V nodes and E directed edges in all: every edge is there both ways, no loops, none twice.

    node_offsets  (N + 1,)  graph i has the nodes node_offsets[i] to node_offsets[i + 1] - 1
    indptr        (V + 1,)  node v has the neighbours neighbors[indptr[v]] to neighbors[indptr[v + 1] - 1]
    neighbors     (E,)      nodes, counted over all graphs, ascending
    labels        (V,)      the nodes' own labels, or None
    """

    node_offsets: Int64
    indptr: Int64
    neighbors: Int32
    labels: Int64 | None = None

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    @classmethod
    def of(cls, node_counts: Int64, edge_counts: Int64, edges: Int64, labels: Int64 | None = None) -> Self:
        """From the graphs' edges, one graph after the other, in any direction; loops and repeated edges are dropped.

        edges (sum of edge_counts, 2): nodes counted from 0 in each graph, less than its node count.
        """
        node_offsets = np.concatenate([[0], np.cumsum(node_counts)]).astype(np.int64)
        ends = edges + np.repeat(node_offsets[:-1], edge_counts)[:, None]
        ends = ends[ends[:, 0] != ends[:, 1]]
        nodes = int(node_offsets[-1])
        both = np.concatenate([ends, ends[:, ::-1]])
        once = np.unique(both[:, 0] * max(nodes, 1) + both[:, 1])
        source, target = np.divmod(once, max(nodes, 1))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=nodes))]).astype(np.int64)
        return cls(node_offsets, indptr, target.astype(np.int32), labels)

    @property
    def nodes(self) -> Int64:
        """(N,) nodes of each graph."""
        return np.diff(self.node_offsets)

    @property
    def edges(self) -> Int64:
        """(N,) undirected edges of each graph."""
        return np.diff(self.indptr[self.node_offsets]) // 2
