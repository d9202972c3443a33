"""The kind of item "graph": one of many small graphs."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from graphkin.similarity.graphs.describer import GraphDescriber, graph_digest
from graphkin.similarity.graphs.descriptors import GraphDescriptors
from graphkin.similarity.graphs.recipe import GraphRecipe
from graphkin.similarity.graphs.recomputation import check_sizes, load_descriptors, read_digests, recompute_similarities
from graphkin.similarity.graphs.search import GraphSearch, read_graph
from graphkin.similarity.graphs.structure import MAX_NODES, Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.kind import Kind, Query
from graphkin.store.base import Generation
from graphkin.store.records import Edges, Float64


class GraphKind(Kind[GraphRecipe]):
    """Graphs with or without node labels, compared by a graph kernel."""

    name = "graph"
    recipe_type = GraphRecipe
    describer = GraphDescriber
    plural = "graphs"
    computed_columns = ("nodes", "edges", "self_loops", "repeated_edges")
    notations = ("graph",)
    file_formats: ClassVar = {"tu": "graph", "graphml": "graph", "jsonl": "graph"}
    max_size = MAX_NODES

    def descriptors(self, items: pa.Table, recipe: GraphRecipe) -> GraphDescriptors:
        return GraphDescriptors.from_items(items, recipe)

    def digests(self, generation: Generation, recipe: GraphRecipe) -> bytes:
        def digest(row: Mapping[str, Any]) -> bytes:
            return graph_digest(recipe, row["structure"], next(iter(row["names"]), None))

        return read_digests(generation, ["structure", "names"], digest)

    def load_descriptors(self, generation: Generation, recipe: GraphRecipe, digests: bytes) -> GraphDescriptors:
        return load_descriptors(generation, recipe, digests)

    def warmup_descriptors(self, recipe: GraphRecipe) -> GraphDescriptors:
        edge = Structure(2, np.array([[0, 1]]), labels=[0, 0])
        one = np.ones(2, np.int32)
        wl_recipe = recipe.model_copy(update={"kernel": "wl"})
        features = Features.from_structures([edge, edge], wl_recipe)
        return GraphDescriptors(wl_recipe, features, 2 * one, one, np.arange(2, dtype=np.uint64), ())

    def versions(self, recipe: GraphRecipe) -> dict[str, str]:
        return {} if recipe.kernel == "wl" else {"grakel": version("grakel")}

    def read(self, recipe: GraphRecipe, text: str, notation: str) -> Query:  # noqa: ARG002
        return read_graph(recipe, text)

    def search(self, generation: Generation) -> GraphSearch:
        return GraphSearch(generation, self.recipe(generation.manifest.recipe))

    def check_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        return check_sizes(generation, sample, random)

    def recompute_similarities(self, generation: Generation, edges: Edges) -> Float64:
        return recompute_similarities(generation, self.recipe(generation.manifest.recipe), edges)
