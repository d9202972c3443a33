"""Features of graphs without attributes: every node is (119, 0), every edge (0, 0) (method.md C).

Such graphs go through the encoder of molecules, including one that was pre-trained on molecules.
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
_BLOCK = 2**20  # bytes parsed at a time; a larger structure is parsed whole


class Structures(NamedTuple):
    """N simple undirected graphs.

    Attributes:
        nodes: (N,) Nodes of each graph.
        edge_counts: (N,) Edges of each graph.
        edges: (E, 2) Ends of each edge, listed once, counted from its graph's first node.
        centre: (N,) The center of each graph; None unless the graphs are subgraphs around a node.
    """

    nodes: NDArray[np.int64]
    edge_counts: NDArray[np.int64]
    edges: NDArray[np.int64]
    centre: NDArray[np.int64] | None = None


def featurize_graphs(structures: Sequence[str], identity: str) -> Corpus:
    """Return the features of graphs in the server's format; item i is structures[i].

    Raises the errors of `read_structures`.
    """
    nodes, counts, edges, _ = read_structures(structures)
    return Corpus.from_edges(identity, nodes, counts, edges)


def read_structures(structures: Sequence[str], is_centered: bool = False) -> Structures:
    """Read graphs in the server's format.

    A structure is JSON: {"num_nodes": n, "edges": [[u, v], ...]} with 0 <= u < v < n and the edges ascending and
    distinct. With `is_centered` it also has "centre": c with 0 <= c < n. Other keys are ignored.

    Raises:
        InvalidInput: A structure has another form, or a graph has no nodes.
    """
    if not structures:
        none = np.empty(0, np.int64)
        return Structures(none, none, none.reshape(0, 2), none if is_centered else None)
    graphs = _parse(structures, is_centered)
    nodes, owner = graphs.nodes, np.repeat(np.arange(len(graphs.nodes)), graphs.edge_counts)
    faulty = np.concatenate([np.flatnonzero(nodes < 1), owner[_misordered_edges(nodes[owner], owner, graphs.edges)]])
    if len(faulty):
        raise _no_graph(structures[faulty.min()], f"item {faulty.min()} is no simple graph with nodes")
    if graphs.centre is not None and len(outside := np.flatnonzero((graphs.centre < 0) | (graphs.centre >= nodes))):
        raise _no_graph(structures[outside[0]], f"item {outside[0]} surrounds a node that it has not")
    return graphs


def _misordered_edges(
    nodes: NDArray[np.int64], owner: NDArray[np.int64], edges: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which edges (E,) violate 0 <= u < v < n or do not follow the edge before.

    `nodes` (E,) holds n, the number of nodes of each edge's graph.
    """
    source, target = edges.T
    is_misordered: NDArray[np.bool_] = (source < 0) | (source >= target) | (target >= nodes)
    graph, source_step, target_step = np.diff(owner), np.diff(source), np.diff(target)
    is_misordered[1:] |= (graph == 0) & ((source_step < 0) | ((source_step == 0) & (target_step <= 0)))
    return is_misordered


def _parse(structures: Sequence[str], is_centered: bool) -> Structures:
    """Parse structures without creating a Python object per node or edge."""
    schema = pa.schema([_NODES, _EDGES, *([_CENTRE] if is_centered else [])])
    lines = [each.encode() for each in structures]
    read_options = json.ReadOptions(block_size=max(_BLOCK, 1 + max(map(len, lines))))
    parse_options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = json.read_json(pa.BufferReader(b"\n".join(lines)), read_options, parse_options).combine_chunks()
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
    """Return whether every list in an Arrow array of lists of numbers is a pair."""
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    return not lists.flatten().null_count and bool((lengths == 2).all())


def _no_graph(structure: str, detail: str) -> InvalidInput:
    return InvalidInput(
        detail,
        given=structure if len(structure) <= 200 else f"{structure[:200]}...",
        expected='{"num_nodes": n, "edges": [[u, v], ...]} with 0 <= u < v < n, ascending',
        hint="write the graph as in the example, nodes counted from 0",
    )
