"""Stored vectors, read again from their text and compared by NumPy."""

import json

import numpy as np

from graphkin.similarity.vectors.recipe import VectorRecipe
from graphkin.store.base import Generation
from graphkin.store.records import Edges, Float32, Float64, Int32


def stored_vectors(generation: Generation, recipe: VectorRecipe, ids: Int32 | None = None) -> Float32:
    """Return (n, D) float32 vectors of the items `ids`, by default of all items."""
    rows = [np.array(json.loads(text), np.float32) for text in generation.structures(ids)]
    return np.array(rows, np.float32).reshape(-1, recipe.dimension)


def recompute_similarities(generation: Generation, recipe: VectorRecipe, edges: Edges) -> Float64:
    """Return (E,) cosines of stored edges, computed by NumPy."""
    ids, position = np.unique(np.concatenate([edges.source, edges.target]), return_inverse=True)
    vectors = stored_vectors(generation, recipe, ids).astype(np.float64)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    a, b = np.split(position, 2)
    similarities: Float64 = np.einsum("pd,pd->p", units[a], units[b])
    return similarities
