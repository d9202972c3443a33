"""Exact search in a generation of vectors."""

import numpy as np

from graphkin.similarity.hits import Hits
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.stored_index import load_index, load_or_compute_index
from graphkin.similarity.vectors.cosine import Vectors, margin
from graphkin.similarity.vectors.recipe import VectorRecipe
from graphkin.similarity.vectors.recomputation import read_vectors
from graphkin.store.base import Generation, as_float32
from graphkin.store.records import Float32, Float64, Int32, Int64


class VectorSearch(Search):
    """Search by cosine. Vectors with a cosine of 0 or less are never hits."""

    def __init__(self, generation: Generation, recipe: VectorRecipe) -> None:
        self._vectors = load_vectors(generation, recipe)
        self._margin = margin(recipe.dimension)

    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        vector: Float32 = query.arrays[0]
        products = self._products(vector)
        threshold = as_float32(min_similarity)
        # The approximate cosines of the last hit and of a candidate can both be wrong by the margin.
        if min_similarity is None and limit < len(products):
            threshold = np.partition(products, len(products) - limit)[len(products) - limit] - np.float32(self._margin)
        rows = np.flatnonzero(products >= threshold - np.float32(self._margin)).astype(np.int32)
        similarity = self._vectors.cosines_with(vector, rows).astype(np.float32)
        mask = (similarity > 0) & (similarity >= as_float32(min_similarity))
        hits = Hits(rows[mask], similarity[mask])
        return hits.best(limit, None if min_similarity is None else len(hits.ids))

    def find_identical(self, query: Query) -> int | None:
        vector: Float32 = query.arrays[0]
        rows = np.flatnonzero(self._products(vector) >= 1 - self._margin)
        equal = rows[(self._vectors.vectors[rows] == vector).all(axis=1)]
        return int(equal[0]) if len(equal) else None

    def similarities(self, reference: int | Query, others: Int32 | Int64 | slice = slice(None)) -> Float64:
        vector: Float32 = (
            reference.arrays[0] if isinstance(reference, Query) else np.array(self._vectors.vectors[reference])
        )
        rows = np.arange(len(self._vectors.squares), dtype=np.int32)[others]
        return self._vectors.cosines_with(vector, rows)

    def _products(self, vector: Float32) -> Float32:
        """Return approximate cosines of all vectors with `vector`, (N,) float32, with errors below the margin."""
        unit = Vectors.from_rows(vector[np.newaxis]).units(slice(None))[0]
        products: Float32 = (self._vectors.vectors @ unit / np.sqrt(self._vectors.squares)).astype(np.float32)
        return products


def load_vectors(generation: Generation, recipe: VectorRecipe) -> Vectors:
    """Return all vectors of a generation, from a complete search index if there is one, else from its items."""

    def is_valid(vectors: Vectors) -> bool:
        return vectors.is_valid_for(generation.size, recipe.dimension)

    def compute() -> Vectors:
        return Vectors.from_rows(read_vectors(generation, recipe))

    is_complete = generation.indexed_count == generation.size
    indexed = load_index(generation, Vectors, is_valid) if is_complete else None
    return indexed or load_or_compute_index(generation, "vectors 1", Vectors, is_valid, compute)
