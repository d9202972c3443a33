"""What the item table keeps of a graph."""

from importlib.metadata import version

import pyarrow as pa

from ingest.describer import Describer, Rejected
from ingest.graphs.structure import Structure
from ingest.graphs.wl import Features
from ingest.recipe import GraphRecipe
from store.identity import content_digest

_DECIDING = {"schema_version", "labels", "iterations", "tie_seed"}


class GraphDescriber(Describer):
    """`digest` is a seeded hash of structure and name: graphs of one shape with different names are different items.

    `subtree` and `count` are the features of the Weisfeiler-Lehman kernel.
    """

    schema = pa.schema(
        [
            ("structure", pa.string()),
            ("nodes", pa.int32()),
            ("edges", pa.int32()),
            ("self_loops", pa.int32()),
            ("repeated_edges", pa.int32()),
            ("subtree", pa.list_(pa.uint64())),
            ("count", pa.list_(pa.int32())),
            ("digest", pa.binary(16)),
        ]
    )

    def __init__(self, recipe: GraphRecipe, max_nodes: int) -> None:
        self._recipe = recipe
        self._max_nodes = max_nodes
        self.key = f"{recipe.model_dump_json(include=_DECIDING)} {max_nodes} {version('graphkin')}".encode()

    def describe(self, text: str, text_format: str, name: str | None) -> tuple[object, ...]:  # noqa: ARG002
        structure = Structure.read(text, self._max_nodes)
        if self._recipe.labels == "given" and structure.labels is None:
            raise Rejected("its nodes have no labels, which the recipe compares")
        features = Features.of([structure], self._recipe)
        written = structure.text
        return (
            written,
            structure.nodes,
            len(structure.edges),
            structure.loops,
            structure.repeated,
            features.subtree,
            features.count,
            content_digest(f"{name or ''}\0{written}", self._recipe.tie_seed),
        )
