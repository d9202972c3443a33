"""The describer of nodes: the subgraph around a node, its degree and its neighbors."""

import json
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np
import pyarrow as pa

from graphkin.similarity.describer import Describer
from graphkin.similarity.graphs.describer import read_structure
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.similarity.nodes.subgraphs import node_subgraphs
from graphkin.store.identity import content_digest
from graphkin.store.records import Int32, Int64

_KEY_FIELDS = {"schema_version", "labels", "weights", "iterations", "tie_seed"}
"""Fields of a recipe on which the description of a node depends."""


def node_structures(
    network: Network, recipe: NodeRecipe, starts: Int32 | None = None
) -> Iterator[tuple[int, Structure]]:
    """Yield nodes of a network, and the subgraph around each one, with the labels and weights that the recipe compares.

    Args:
        network: The network.
        recipe: The recipe of the nodes.
        starts: (n,) nodes whose subgraphs are returned, by default all nodes of the network.
    """
    log_degrees = _log_degrees(network)
    for block in node_subgraphs(network, recipe, starts):
        attributes = {"labels": log_degrees[block.nodes], "weights": block.weights}
        compared = {name: attributes[name] for name in recipe.compared_attributes}
        for row, start in enumerate(block.starts.tolist()):
            nodes = slice(block.node_offsets[row], block.node_offsets[row + 1])
            edges = block.edges[block.edge_offsets[row] : block.edge_offsets[row + 1]].astype(np.int64)
            values = {name: column[nodes].tolist() for name, column in compared.items()}
            yield start, Structure(int(nodes.stop - nodes.start), edges, center=0, **values)


def node_texts(network: Network, recipe: NodeRecipe) -> Iterator[str]:
    """Yield the record of each node of a network as JSON text.

    A record names the network by its digest, and holds the number of the node, its neighbors, the number of edges that
    were dropped at the node, and the subgraph around it.
    """
    indptr, indices = network.links.indptr, network.links.indices
    for node, structure in node_structures(network, recipe):
        record = {
            "graph": network.digest,
            "node": node,
            "neighbors": indices[indptr[node] : indptr[node + 1]].tolist(),
            "self_loops": int(network.loops[node]),
            "repeated_edges": int(network.repeated[node]),
            **structure.content,
        }
        yield json.dumps(record, separators=(",", ":"))


def _log_degrees(network: Network) -> Int64:
    """Return ⌊log₂ degree⌋ + 1 of each node of a network, 0 for isolated nodes, (V,) int64."""
    return np.frexp(np.diff(network.links.indptr))[1].astype(np.int64)


def node_digest(recipe: NodeRecipe, graph: str, name: str) -> bytes:
    """Return the digest that identifies a node. Nodes with the same network and the same name are the same item.

    Args:
        recipe: The recipe of the nodes.
        graph: Digest of the network.
        name: Name of the node.
    """
    return content_digest(f"{graph}\0{name}", recipe.tie_seed)


class NodeDescriber(Describer[NodeRecipe]):
    """Describes nodes from the texts of `node_texts`.

    The column `graph` holds the digest of the network. The columns `node` and `neighbors` hold numbers of its nodes.
    """

    schema = pa.schema(
        [
            ("structure", pa.large_string()),
            ("degree", pa.int32()),
            ("nodes", pa.int32()),
            ("edges", pa.int32()),
            ("self_loops", pa.int32()),
            ("repeated_edges", pa.int32()),
            ("subtree", pa.large_list(pa.uint64())),
            ("count", pa.large_list(pa.int32())),
            ("digest", pa.binary(16)),
            ("graph", pa.string()),
            ("node", pa.int32()),
            ("neighbors", pa.large_list(pa.int32())),
        ]
    )

    preload = ("graphkin.similarity.nodes.preload",)

    def __init__(self, recipe: NodeRecipe, max_size: int) -> None:
        self._recipe = recipe
        self._max_size = max_size
        self.key = f"{recipe.model_dump_json(include=_KEY_FIELDS)} {max_size} {version('graphkin')}".encode()

    def describe(self, text: str, notation: str, name: str | None) -> tuple[object, ...]:  # noqa: ARG002
        structure = read_structure(text, self._recipe, self._max_size)
        record = json.loads(text)
        features = Features.from_structures([structure], self._recipe)
        return (
            structure.text,
            len(record["neighbors"]),
            structure.nodes,
            len(structure.edges),
            record["self_loops"],
            record["repeated_edges"],
            features.subtree,
            features.count,
            node_digest(self._recipe, record["graph"], name or ""),
            record["graph"],
            record["node"],
            record["neighbors"],
        )
