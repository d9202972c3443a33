"""The describer of graphs: structure, numbers of nodes and edges, and Weisfeiler-Lehman features."""

from importlib.metadata import version

import pyarrow as pa

from graphkin.similarity.describer import Describer, Rejected
from graphkin.similarity.graphs.recipe import GraphRecipe, StructureRecipe
from graphkin.similarity.graphs.structure import MAX_NODES, Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.store.identity import content_digest

_KEY_FIELDS = {"schema_version", "labels", "iterations", "tie_seed"}


def read_structure(text: str, recipe: StructureRecipe, max_nodes: int = MAX_NODES) -> Structure:
    """Read a graph, and check that it has all that the recipe compares.

    Raises:
        Rejected: The text is not a valid graph, or it lacks labels, weights or the center that the recipe compares.
    """
    structure = Structure.read(text, max_nodes, centered=recipe.centered)
    for name in recipe.compared_attributes:
        if getattr(structure, name) is None:
            raise Rejected(f"its nodes have no {name}, which the recipe compares")
    return structure


class GraphDescriber(Describer[GraphRecipe]):
    """Describes graphs.

    The columns `subtree` and `count` hold the features of the Weisfeiler-Lehman kernel. The column `digest` is a seeded
    hash of the structure and the name. Lists and structures have 64-bit offsets, because those of a whole collection
    can exceed 2³¹ values.
    """

    schema = pa.schema(
        [
            ("structure", pa.large_string()),
            ("nodes", pa.int32()),
            ("edges", pa.int32()),
            ("self_loops", pa.int32()),
            ("repeated_edges", pa.int32()),
            ("subtree", pa.large_list(pa.uint64())),
            ("count", pa.large_list(pa.int32())),
            ("digest", pa.binary(16)),
        ]
    )

    preload = ("graphkin.similarity.graphs.preload",)

    def __init__(self, recipe: GraphRecipe, max_nodes: int) -> None:
        self._recipe = recipe
        self._max_nodes = max_nodes
        self.key = f"{recipe.model_dump_json(include=_KEY_FIELDS)} {max_nodes} {version('graphkin')}".encode()

    def describe(self, text: str, notation: str, name: str | None) -> tuple[object, ...]:  # noqa: ARG002
        structure = read_structure(text, self._recipe, self._max_nodes)
        features = Features.from_structures([structure], self._recipe)
        canonical = structure.text
        return (
            canonical,
            structure.nodes,
            len(structure.edges),
            structure.loops,
            structure.repeated,
            features.subtree,
            features.count,
            graph_digest(self._recipe, canonical, name),
        )


def graph_digest(recipe: GraphRecipe, structure: str, name: str | None) -> bytes:
    """Return the digest that identifies a graph. Equal graphs with different names are different items."""
    return content_digest(f"{name or ''}\0{structure}", recipe.tie_seed)
