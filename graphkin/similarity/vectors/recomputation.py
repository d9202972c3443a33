"""Vectors read from the stored text, and their cosines, recomputed by NumPy."""

import json

import numpy as np

from graphkin.similarity.vectors.recipe import VectorRecipe
from graphkin.store.base import Generation
from graphkin.store.records import Edges, Float32, Float64, Int32


def read_vectors(generation: Generation, recipe: VectorRecipe, ids: Int32 | None = None) -> Float32:
    """Read the vectors of the items `ids`, by default of all items, as (n, D) float32."""
    rows = [np.array(json.loads(text), np.float32) for text in generation.structures(ids)]
    return np.array(rows, np.float32).reshape(-1, recipe.dimension)


def recompute_similarities(generation: Generation, recipe: VectorRecipe, edges: Edges) -> Float64:
    """Return the cosines of stored edges, (E,) float64, computed by NumPy."""
    ids, position = np.unique(np.concatenate([edges.source, edges.target]), return_inverse=True)
    vectors = read_vectors(generation, recipe, ids).astype(np.float64)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    a, b = np.split(position, 2)
    similarities: Float64 = np.einsum("pd,pd->p", units[a], units[b])
    return similarities
