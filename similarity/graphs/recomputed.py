"""Stored graphs described and compared again, from their structures."""

from importlib.util import find_spec

import numpy as np
import pyarrow as pa

from graphkin.similarity.graphs.describer import GraphDescriber
from graphkin.similarity.graphs.descriptors import GraphDescriptors
from graphkin.similarity.graphs.recipe import GraphRecipe
from graphkin.similarity.graphs.reference import Reference
from graphkin.similarity.graphs.structure import MAX_NODES, Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.store.base import Generation
from graphkin.store.records import Edges, Float64

_BLOCK = 1000  # edges: GraKeL computes all pairs of their ends


def descriptors_of(generation: Generation, recipe: GraphRecipe) -> GraphDescriptors:
    """All items, by the describer that the ingest has."""
    describer = GraphDescriber(recipe, MAX_NODES)
    parts = []
    for batch in generation.scan():
        columns = (batch[column].to_pylist() for column in ("structure", "names"))
        rows = (
            describer.describe(text, "graph", next(iter(names), None)) for text, names in zip(*columns, strict=True)
        )
        parts.append(pa.record_batch([*zip(*rows, strict=True)], schema=describer.schema))
    return GraphDescriptors.of(pa.Table.from_batches(parts), recipe)


def recomputed_similarities(generation: Generation, recipe: GraphRecipe, edges: Edges) -> Float64:
    """(E,) by GraKeL where it is installed, else by our own kernel."""
    blocks = [edges.take(slice(start, start + _BLOCK)) for start in range(0, len(edges), _BLOCK)]
    return np.concatenate([np.empty(0), *(_recomputed(generation, recipe, block) for block in blocks)])


def _recomputed(generation: Generation, recipe: GraphRecipe, edges: Edges) -> Float64:
    ids, position = np.unique(np.concatenate([edges.source, edges.target]), return_inverse=True)
    structures = [Structure.read(text) for text in generation.structures(ids)]
    compare = Reference(structures, recipe) if find_spec("grakel") else Features.of(structures, recipe)
    a, b = np.split(position.astype(np.int32), 2)
    return compare.similarities(a, b)
