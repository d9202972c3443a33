"""The kind of item "node": a node of a network."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from graphkin.similarity.graphs.descriptors import GraphDescriptors
from graphkin.similarity.graphs.recomputation import check_sizes, load_descriptors, read_digests, recompute_similarities
from graphkin.similarity.graphs.search import GraphSearch, read_graph
from graphkin.similarity.kind import Kind, Query
from graphkin.similarity.nodes.describer import NodeDescriber, node_digest, node_texts
from graphkin.similarity.nodes.descriptors import NodeDescriptors, links_between
from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.recipe import NodeRecipe, upgrade
from graphkin.store.base import Generation
from graphkin.store.records import Edges, Float64, Links


class NodeKind(Kind[NodeRecipe]):
    """Nodes of networks, compared by the subgraphs around them or by their distance."""

    name = "node"
    recipe_type = NodeRecipe
    describer = NodeDescriber
    plural = "nodes"
    computed_columns = ("degree", "nodes", "edges", "self_loops", "repeated_edges")
    notations = ("graph",)
    file_formats: ClassVar = dict.fromkeys(("edgelist", "csv", "tsv", "graphml", "mtx", "npz"), "graph")
    max_size = 10_000

    def recipe(self, values: Mapping[str, Any]) -> NodeRecipe:
        return super().recipe(upgrade(values))

    def descriptors(self, items: pa.Table, recipe: NodeRecipe) -> NodeDescriptors:
        return NodeDescriptors.from_graphs(GraphDescriptors.from_items(items, recipe), recipe, links_between(items))

    def digests(self, generation: Generation, recipe: NodeRecipe) -> bytes:
        def digest(row: Mapping[str, Any]) -> bytes:
            return node_digest(recipe, row["graph"], next(iter(row["names"]), ""))

        return read_digests(generation, ["graph", "names"], digest)

    def load_descriptors(self, generation: Generation, recipe: NodeRecipe, digests: bytes) -> NodeDescriptors:
        return NodeDescriptors.from_graphs(
            load_descriptors(generation, recipe, digests), recipe, load_links(generation)
        )

    def warmup_descriptors(self, recipe: NodeRecipe) -> NodeDescriptors:
        zero = np.zeros(1, np.int32)
        pair = Network.from_edges(pa.array(["0", "1"]), zero, zero + 1)
        describer = NodeDescriber(recipe, 2)
        rows = [
            describer.describe(text, "graph", name) for text, name in zip(node_texts(pair, recipe), "01", strict=True)
        ]
        return self.descriptors(pa.table([*zip(*rows, strict=True)], schema=describer.schema), recipe)

    def versions(self, recipe: NodeRecipe) -> dict[str, str]:  # noqa: ARG002
        return {}

    def read(self, recipe: NodeRecipe, text: str, notation: str) -> Query:  # noqa: ARG002
        return read_graph(recipe, text)

    def search(self, generation: Generation) -> GraphSearch:
        return GraphSearch(generation, self.recipe(generation.manifest.recipe))

    def check_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        return check_sizes(generation, sample, random)

    def recompute_similarities(self, generation: Generation, edges: Edges) -> Float64:
        recipe = self.recipe(generation.manifest.recipe)
        if recipe.kernel == "wl":
            return recompute_similarities(generation, recipe, edges)
        import networkx as nx  # imported here because it loads slowly

        network = nx.from_edgelist(_edge_list(load_links(generation)))
        lengths = (
            nx.shortest_path_length(network, *ends)
            for ends in zip(edges.source.tolist(), edges.target.tolist(), strict=True)
        )
        return 1 / (1 + np.fromiter(lengths, np.float64, len(edges)))


def load_links(generation: Generation) -> Links:
    """Return the edges of the network between the items, which are its nodes."""
    links = generation.links()
    assert links is not None, "collections of nodes have links"
    return links


def _edge_list(links: Links) -> list[tuple[int, int]]:
    owner = np.repeat(np.arange(len(links.indptr) - 1), np.diff(links.indptr))
    return [*zip(owner.tolist(), links.indices.tolist(), strict=True)]
