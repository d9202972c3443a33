"""Graphs with or without node labels: one graph as JSON text, many graphs as arrays."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from graphkin.similarity.describer import Rejected
from graphkin.store.records import Int32, Int64

MAX_NODES = 100_000
"""Default limit on the number of nodes of a graph."""

_MAX_WEIGHT = 2**31 - 1


@dataclass(frozen=True)
class Structure:
    """One simple undirected graph.

    Attributes:
        nodes: Number of nodes.
        edges: (E, 2) int64 edges (u, v) with u < v, ascending.
        labels: One text or integer per node, or None.
        weights: One integer per node, or None.
        loops: Number of self-loops that were dropped.
        repeated: Number of duplicate edges that were dropped.
        center: The node around which the graph is a subgraph of a network, or None.
    """

    nodes: int
    edges: Int64
    labels: Sequence[str] | Sequence[int] | None = None
    loops: int = 0
    repeated: int = 0
    center: int | None = None
    weights: Sequence[int] | None = None

    @classmethod
    def read(cls, text: str, max_nodes: int = MAX_NODES, *, centered: bool = False) -> Self:
        """Read a graph from JSON, `{"num_nodes": N, "edges": [[u, v], ...], "labels": [...], "weights": [...]}`.

        Nodes are numbered from 0. `num_nodes` may be missing if the last node has an edge. `labels` and `weights` may
        be missing. Self-loops and duplicate edges are dropped. Other keys are ignored, and so are `weights` unless
        `centered`.

        Args:
            text: The graph as JSON.
            max_nodes: Maximum number of nodes.
            centered: Whether the key `"centre": v`, which names the center, is read and required.

        Raises:
            Rejected: The text is not a valid graph.
        """
        content = _read_object(text)
        pairs = _read_pairs(content.get("edges"))
        nodes = content.get("num_nodes", int(pairs.max(initial=-1)) + 1)
        if type(nodes) is not int or not 1 <= nodes <= max_nodes:
            raise Rejected(f"num_nodes is {json.dumps(nodes)[:50]}, not from 1 to {max_nodes:,}")
        if len(invalid := pairs[(pairs < 0).any(axis=1) | (pairs >= nodes).any(axis=1)]):
            raise Rejected(f"edge {invalid[0].tolist()} leaves the nodes 0 to {nodes - 1}")
        labels, center = _read_labels(content.get("labels"), nodes), content.get("centre") if centered else None
        weights = _read_weights(content.get("weights"), nodes) if centered else None
        if centered and not (type(center) is int and 0 <= center < nodes):
            raise Rejected(f'"centre" is {json.dumps(center)[:50]}, no node from 0 to {nodes - 1}')
        return replace(cls._from_pairs(nodes, pairs), labels=labels, center=center, weights=weights)

    @classmethod
    def _from_pairs(cls, nodes: int, pairs: Int64) -> Self:
        non_loops = pairs[pairs[:, 0] != pairs[:, 1]]
        keys = np.unique(non_loops.min(axis=1, initial=nodes) * nodes + non_loops.max(axis=1, initial=0))
        edges = np.stack(np.divmod(keys, nodes), axis=1)
        return cls(nodes, edges, loops=len(pairs) - len(non_loops), repeated=len(non_loops) - len(edges))

    @property
    def content(self) -> dict[str, Any]:
        """The graph as the object that `read` reads from JSON."""
        content: dict[str, Any] = {"num_nodes": self.nodes, "edges": self.edges.tolist()}
        if self.labels is not None:
            content["labels"] = self.labels
        if self.weights is not None:
            content["weights"] = self.weights
        if self.center is not None:
            content["centre"] = self.center
        return content

    @property
    def text(self) -> str:
        """The graph as JSON that `read` reads. Equal graphs have equal texts."""
        return json.dumps(self.content, separators=(",", ":"), ensure_ascii=False)


def _read_object(text: str) -> dict[str, Any]:
    if not text.strip():
        raise Rejected("empty record")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"not JSON: {error}") from error
    if not isinstance(content, dict):
        raise Rejected('not a JSON object with "edges"')
    return content


def _read_pairs(edges: object) -> Int64:
    problem = Rejected('"edges" is not a list of pairs of node numbers')
    if not isinstance(edges, list) or not all(type(edge) is list and len(edge) == 2 for edge in edges):
        raise problem
    if not {type(node) for edge in edges for node in edge} <= {int}:
        raise problem
    try:
        return np.fromiter(chain.from_iterable(edges), np.int64, 2 * len(edges)).reshape(-1, 2)
    except OverflowError as error:
        raise problem from error


def _read_labels(labels: object, nodes: int) -> Sequence[str] | Sequence[int] | None:
    if labels is None:
        return None
    if not isinstance(labels, list) or len(labels) != nodes:
        raise Rejected(f'"labels" is not a list of {nodes} labels, one per node')
    if {type(label) for label in labels} not in ({int}, {str}):
        raise Rejected('"labels" holds other values than integers alone or texts alone')
    if not all(-(2**63) <= label < 2**63 for label in labels if isinstance(label, int)):
        raise Rejected('"labels" holds an integer of more than 64 bits')
    try:
        "".join(map(str, labels)).encode()
    except UnicodeEncodeError as error:
        raise Rejected('"labels" is not Unicode text') from error
    return labels


def _read_weights(weights: object, nodes: int) -> Sequence[int] | None:
    if weights is None:
        return None
    if not isinstance(weights, list) or len(weights) != nodes:
        raise Rejected(f'"weights" is not a list of {nodes} integers, one a node')
    if {type(weight) for weight in weights} != {int} or not 0 <= min(weights) <= max(weights) <= _MAX_WEIGHT:
        raise Rejected(f'"weights" holds something else than integers from 0 to {_MAX_WEIGHT:,}')
    if not any(weights):
        raise Rejected('"weights" holds only zeros')
    return weights


@dataclass(frozen=True)
class Graphs:
    """N graphs with V nodes and E directed edges in total, as one compressed sparse row (CSR) matrix.

    Each edge is stored in both directions. There are no self-loops and no duplicates.

    Attributes:
        node_offsets: (N + 1,) int64; graph i has the nodes node_offsets[i] to node_offsets[i + 1] - 1.
        indptr: (V + 1,) int64; node v has the neighbors neighbors[indptr[v]] to neighbors[indptr[v + 1] - 1].
        neighbors: (E,) int32 nodes, numbered over all graphs, ascending within a node.
    """

    node_offsets: Int64
    indptr: Int64
    neighbors: Int32

    @classmethod
    def from_structures(cls, structures: Sequence[Structure]) -> Self:
        node_offsets = np.cumsum([0, *(structure.nodes for structure in structures)])
        shifted = (structure.edges + offset for structure, offset in zip(structures, node_offsets, strict=False))
        ends = np.concatenate([np.empty((0, 2), np.int64), *shifted])
        source, target = np.concatenate([ends, ends[:, ::-1]]).T
        order = np.lexsort((target, source))
        indptr = np.append(0, np.cumsum(np.bincount(source, minlength=node_offsets[-1])))
        return cls(node_offsets, indptr, target[order].astype(np.int32))
