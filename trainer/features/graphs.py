"""Attribute-less graphs to features: every node is (119, 0), every edge (0, 0) (docs/training.md).

So they go through the encoder of molecules, also through one that was pre-trained on molecules.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import json

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.features.corpus import Corpus

_NODES, _EDGES, _CENTRE = ("num_nodes", pa.int64()), ("edges", pa.list_(pa.list_(pa.int64()))), ("centre", pa.int64())
_BLOCK = 2**20  # bytes that are parsed at a time, or one structure if that is more


class Structures(NamedTuple):
    """N simple undirected graphs.

    nodes, edge_counts (N,); edges (E, 2), each once, counted from its graph's first node; centre (N,), or None.
    """

    nodes: NDArray[np.int64]
    edge_counts: NDArray[np.int64]
    edges: NDArray[np.int64]
    centre: NDArray[np.int64] | None = None


def featurize_graphs(structures: Sequence[str], identity: str) -> Corpus:
    """The features of graphs as the server writes them, item i being structures[i].

    Raises as `read_structures`.
    """
    nodes, counts, edges, _ = read_structures(structures)
    return Corpus.from_edges(identity, nodes, counts, edges)


def read_structures(structures: Sequence[str], centred: bool = False) -> Structures:
    """Graphs as the server writes them; with `centred`, surroundings of a node.

    A structure is JSON, {"num_nodes": n, "edges": [[u, v], ...]} with 0 <= u < v < n, the edges ascending and each
    once, and if centred also "centre": c, 0 <= c < n; whatever else it has is ignored. Raises `InvalidInput` for any
    other, and for a graph without nodes.
    """
    if not structures:
        none = np.empty(0, np.int64)
        return Structures(none, none, none.reshape(0, 2), none if centred else None)
    read = _parsed(structures, centred)
    nodes, owner = read.nodes, np.repeat(np.arange(len(read.nodes)), read.edge_counts)
    faulty = np.concatenate([np.flatnonzero(nodes < 1), owner[_disordered(nodes[owner], owner, read.edges)]])
    if len(faulty):
        raise _no_graph(structures[faulty.min()], f"item {faulty.min()} is no simple graph with nodes")
    if read.centre is not None and len(outside := np.flatnonzero((read.centre < 0) | (read.centre >= nodes))):
        raise _no_graph(structures[outside[0]], f"item {outside[0]} surrounds a node that it has not")
    return read


def _disordered(nodes: NDArray[np.int64], owner: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(E,): edges that are not 0 <= u < v < n, or do not come after the one before; of graphs of so many nodes (E,)."""
    source, target = edges.T
    wrong: NDArray[np.bool_] = (source < 0) | (source >= target) | (target >= nodes)
    graph, one, other = np.diff(owner), np.diff(source), np.diff(target)
    wrong[1:] |= (graph == 0) & ((one < 0) | ((one == 0) & (other <= 0)))
    return wrong


def _parsed(structures: Sequence[str], centred: bool) -> Structures:
    """As they are written, with no Python object a node or an edge."""
    schema = pa.schema([_NODES, _EDGES, *([_CENTRE] if centred else [])])
    lines = [each.encode() for each in structures]
    reading = json.ReadOptions(block_size=max(_BLOCK, 1 + max(map(len, lines))))
    parsing = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = json.read_json(pa.BufferReader(b"\n".join(lines)), reading, parsing).combine_chunks()
    except pa.ArrowException as error:
        raise _no_graph(structures[0], f"the graphs cannot be read: {error}") from error
    nodes, edges, *centre = (table[name].combine_chunks() for name in schema.names)
    pairs = edges.flatten()
    nulls = sum(column.null_count for column in (nodes, edges, *centre))
    if len(table) != len(structures) or nulls or not _all_pairs(pairs):
        raise _no_graph(structures[0], "not every item is a graph")
    ends: NDArray[np.int64] = pairs.flatten().to_numpy().reshape(-1, 2)
    counts = edges.value_lengths().to_numpy().astype(np.int64)
    return Structures(nodes.to_numpy(), counts, ends, *(column.to_numpy() for column in centre))


def _all_pairs(lists: Any) -> bool:
    """Whether an Arrow array of lists of numbers has pairs only."""
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    return not lists.flatten().null_count and bool((lengths == 2).all())


def _no_graph(structure: str, detail: str) -> InvalidInput:
    return InvalidInput(
        detail,
        given=structure if len(structure) <= 200 else f"{structure[:200]}...",
        expected='{"num_nodes": n, "edges": [[u, v], ...]} with 0 <= u < v < n, ascending',
    )
