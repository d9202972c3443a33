"""Features, digests and similarities of stored graphs, loaded from the index or recomputed from the structures."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from graphkin.similarity.graphs.describer import read_structure
from graphkin.similarity.graphs.descriptors import GraphDescriptors
from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.plain import PlainKernel
from graphkin.similarity.graphs.recipe import StructureRecipe
from graphkin.similarity.graphs.reference import GrakelKernel
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.stored_index import load_index
from graphkin.store.base import Generation
from graphkin.store.identity import tie_ranks
from graphkin.store.records import Edges, Float64

_EDGES_PER_CALL = 1000  # few, because GraKeL compares all graphs of a call, up to 2,000, with each other


def load_features(generation: Generation, recipe: StructureRecipe) -> Features:
    """Return the features of all items, in the order of their ids.

    The stored index provides the features of the first `generation.indexed_count` items. Features of later items, or
    of all items if no index is stored, are computed from the structures.
    """
    stored = load_index(generation, SubtreeIndex, lambda index: index.is_valid_for(generation.indexed_count))
    begin = generation.indexed_count if stored else 0
    batches = (batch.column(0).to_pylist() for batch in generation.columns([generation.manifest.structure], begin))
    parts = (Features.from_structures([read_structure(text, recipe) for text in texts], recipe) for texts in batches)
    return Features.concatenate([*([stored.features] if stored else []), *parts])


def read_digests(generation: Generation, columns: Sequence[str], digest: Callable[[Mapping[str, Any]], bytes]) -> bytes:
    """Return the digests of all items, concatenated in the order of their ids.

    Args:
        generation: The generation to read.
        columns: Columns of the item table that `digest` needs.
        digest: Function from a row with these columns to the digest that the describer computed at ingest.
    """
    return b"".join(digest(row) for batch in generation.columns(columns) for row in batch.to_pylist())


def load_descriptors(generation: Generation, recipe: StructureRecipe, digests: bytes) -> GraphDescriptors:
    """Return the descriptors of all items. They equal the descriptors that ingest computed.

    Args:
        generation: The generation to read.
        recipe: The recipe of the generation.
        digests: The result of `read_digests`.
    """
    nodes, edges = (generation.column(name).astype(np.int32) for name in ("nodes", "edges"))
    structures = [] if recipe.kernel == "wl" else [*generation.structures()]
    return GraphDescriptors(recipe, load_features(generation, recipe), nodes, edges, tie_ranks(digests), structures)


def recompute_similarities(generation: Generation, recipe: StructureRecipe, edges: Edges) -> Float64:
    """Return the similarities of stored edges, (E,) float64.

    They are computed independently of the built-in kernel that built the edges: by GraKeL or, for weighted nodes, which
    GraKeL does not have, in plain Python. If GraKeL is not installed, the built-in kernel computes them.
    """
    blocks = [edges.take(slice(start, start + _EDGES_PER_CALL)) for start in range(0, len(edges), _EDGES_PER_CALL)]
    return np.concatenate([np.empty(0), *(_block_similarities(generation, recipe, block) for block in blocks)])


def _block_similarities(generation: Generation, recipe: StructureRecipe, edges: Edges) -> Float64:
    ids, positions = np.unique(np.concatenate([edges.source, edges.target]), return_inverse=True)
    structures = [read_structure(text, recipe) for text in generation.structures(ids)]
    kernel: PlainKernel | GrakelKernel | Features
    if recipe.is_weighted:
        kernel = PlainKernel(structures, recipe)
    elif find_spec("grakel"):
        kernel = GrakelKernel(structures, recipe)
    else:
        kernel = Features.from_structures(structures, recipe)
    a, b = np.split(positions.astype(np.int32), 2)
    return kernel.similarities(a, b)


def check_sizes(generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
    """Compare the stored numbers of nodes and edges of random items with their structures.

    Args:
        generation: The generation to check.
        sample: Number of items to check.
        random: Generator of the sample.

    Returns:
        One message per item whose stored numbers are wrong.
    """
    ids = np.sort(random.choice(generation.size, min(sample, generation.size), replace=False)).astype(np.int32)
    messages = []
    for item, text in zip(generation.items(ids), generation.structures(ids), strict=True):
        structure, properties = Structure.read(text), item["properties"]
        if (structure.nodes, len(structure.edges)) != (properties.get("nodes"), properties.get("edges")):
            messages.append(f"item {item['id']}: its numbers of nodes and edges are not those of its structure")
    return messages
