"""Attribute-less graphs as one kind of item."""

from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa

from ingest.columns import fixed_width, lists
from ingest.graphs.describer import GraphDescriber
from ingest.graphs.descriptors import GraphDescriptors
from ingest.graphs.reference import Reference
from ingest.graphs.search import GraphSearch, described, read_graph
from ingest.graphs.structure import MAX_NODES, Structure
from ingest.graphs.wl import Features
from ingest.kind import Kind, Query
from ingest.readers import ReadOptions, Source, open_graphs
from ingest.recipe import GraphRecipe
from store.base import Generation
from store.identity import content_digest
from store.records import Edges, Float64

_BLOCK = 1000  # edges: GraKeL computes all pairs of their ends


class GraphKind(Kind):
    """Graphs without attributes, or with node labels, compared by the Weisfeiler-Lehman subtree kernel."""

    name = "graph"
    describer = GraphDescriber
    plural = "graphs"
    computed = ("nodes", "edges", "self_loops", "repeated_edges")
    writings = ("graph",)
    max_size = MAX_NODES

    def recipe(self, values: Mapping[str, Any]) -> GraphRecipe:
        return GraphRecipe.model_validate(values)

    def open(self, file: str, options: ReadOptions) -> Source:
        return open_graphs(file, options)

    def descriptors(self, items: pa.Table, recipe: GraphRecipe) -> GraphDescriptors:
        lengths, subtree = lists(items["subtree"])
        return GraphDescriptors(
            recipe=recipe,
            features=Features(np.append(0, np.cumsum(lengths)), subtree, lists(items["count"])[1]),
            nodes=np.asarray(items["nodes"]),
            edges=np.asarray(items["edges"]),
            tie=fixed_width(items["digest"], "<u8").reshape(-1, 2)[:, 0].copy(),
            structures=items["structure"].to_pylist() if recipe.kernel != "wl" else (),
        )

    def described(self, generation: Generation, recipe: GraphRecipe) -> GraphDescriptors:
        rows = [row for batch in generation.scan() for row in batch.select(["names", "structure"]).to_pylist()]
        named = (f"{next(iter(row['names']), '')}\0{row['structure']}" for row in rows)
        digests = b"".join(content_digest(text, recipe.tie_seed) for text in named)
        return GraphDescriptors(
            recipe=recipe,
            features=described(generation, recipe),
            nodes=generation.column("nodes").astype(np.int32),
            edges=generation.column("edges").astype(np.int32),
            tie=np.frombuffer(digests, "<u8").reshape(-1, 2)[:, 0].copy(),
            structures=[row["structure"] for row in rows],
        )

    def specimen(self, recipe: GraphRecipe) -> GraphDescriptors:
        edge = Structure(2, np.array([[0, 1]]), labels=[0, 0])
        one = np.ones(2, np.int32)
        compiled = recipe.model_copy(update={"kernel": "wl"})
        features = Features.of([edge, edge], compiled)
        return GraphDescriptors(compiled, features, 2 * one, one, np.arange(2, dtype=np.uint64), ())

    def versions(self, recipe: GraphRecipe) -> dict[str, str]:
        return {} if recipe.kernel == "wl" else {"grakel": version("grakel")}

    def read(self, recipe: GraphRecipe, text: str, writing: str) -> Query:  # noqa: ARG002
        return read_graph(recipe, text)

    def search(self, generation: Generation) -> GraphSearch:
        return GraphSearch(generation)

    def wrong_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        ids = random.choice(generation.size, min(sample, generation.size), replace=False).astype(np.int32)
        counts = np.stack([generation.column("nodes"), generation.column("edges")], axis=1)
        wrong = []
        for row in (row for batch in generation.scan(np.sort(ids)) for row in batch.to_pylist()):
            structure = Structure.read(row["structure"])
            if [structure.nodes, len(structure.edges)] != counts[row["id"]].tolist():
                wrong.append(f"item {row['id']}: its numbers of nodes and edges are not those of its structure")
        return wrong

    def recomputed(self, generation: Generation, edges: Edges) -> Float64:
        """By GraKeL where it is installed, else by our own kernel."""
        recipe = self.recipe(generation.manifest.recipe)
        blocks = [edges.take(slice(start, start + _BLOCK)) for start in range(0, len(edges), _BLOCK)]
        return np.concatenate([np.empty(0), *(_compared_again(generation, recipe, block) for block in blocks)])


def _compared_again(generation: Generation, recipe: GraphRecipe, edges: Edges) -> Float64:
    ids, position = np.unique(np.concatenate([edges.source, edges.target]), return_inverse=True)
    texts = (text for batch in generation.scan(ids.astype(np.int32)) for text in batch["structure"].to_pylist())
    structures = [Structure.read(text) for text in texts]
    compare = Reference(structures, recipe) if find_spec("grakel") else Features.of(structures, recipe)
    a, b = np.split(position.astype(np.int32), 2)
    return compare.similarities(a, b)
