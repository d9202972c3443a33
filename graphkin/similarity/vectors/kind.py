"""The kind of item "vector": embeddings of any object."""

from typing import ClassVar

import numpy as np
import pyarrow as pa

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_NUMBERS
from graphkin.similarity.columns import fixed_width_array
from graphkin.similarity.describer import Rejected
from graphkin.similarity.kind import Kind, Query
from graphkin.similarity.vectors.describer import VectorDescriber
from graphkin.similarity.vectors.descriptors import VectorDescriptors
from graphkin.similarity.vectors.recipe import VectorRecipe
from graphkin.similarity.vectors.recomputation import read_vectors, recompute_similarities
from graphkin.similarity.vectors.search import VectorSearch, load_vectors
from graphkin.similarity.vectors.text import format_vector, read_vector
from graphkin.store.base import Generation
from graphkin.store.identity import tie_ranks
from graphkin.store.records import Edges, Float64

_EXCERPT = 200


class VectorKind(Kind[VectorRecipe]):
    """Dense vectors, compared by their cosine."""

    name = "vector"
    recipe_type = VectorRecipe
    describer = VectorDescriber
    plural = "vectors"
    computed_columns = ("norm",)
    notations = ("vector",)
    file_formats: ClassVar = {"parquet": "vector", "npy": "vector"}
    max_size = MAX_NUMBERS

    def descriptors(self, items: pa.Table, recipe: VectorRecipe) -> VectorDescriptors:
        vectors = fixed_width_array(items["vector"], "<f4").reshape(len(items), -1)
        return VectorDescriptors(recipe, vectors, tie_ranks(fixed_width_array(items["digest"], "<u8")))

    def load_descriptors(self, generation: Generation, recipe: VectorRecipe, digests: bytes) -> VectorDescriptors:
        return VectorDescriptors(recipe, load_vectors(generation, recipe).vectors, tie_ranks(digests))

    def warmup_descriptors(self, recipe: VectorRecipe) -> VectorDescriptors:
        return VectorDescriptors(recipe, np.ones((2, recipe.dimension), np.float32), np.arange(2, dtype=np.uint64))

    def versions(self, recipe: VectorRecipe) -> dict[str, str]:  # noqa: ARG002
        return {}

    def read(self, recipe: VectorRecipe, text: str, notation: str) -> Query:  # noqa: ARG002
        try:
            vector = read_vector(text, recipe.dimension)
        except Rejected as reason:
            excerpt = text[:_EXCERPT].encode(errors="backslashreplace").decode()
            expected = f"{recipe.dimension:,} numbers: [0.5, -1, ...]"
            raise InvalidInput(
                f"this is not a vector of the collection: it {reason}",
                given=excerpt,
                expected=expected,
                hint=f"write a JSON array of {recipe.dimension:,} numbers",
            ) from reason
        return Query(format_vector(vector), (vector,))

    def search(self, generation: Generation) -> VectorSearch:
        return VectorSearch(generation, self.recipe(generation.manifest.recipe))

    def check_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        ids = np.sort(random.choice(generation.size, min(sample, generation.size), replace=False)).astype(np.int32)
        recipe = self.recipe(generation.manifest.recipe)
        stored, indexed = read_vectors(generation, recipe, ids), load_vectors(generation, recipe).vectors[ids]
        is_wrong = (stored != indexed).any(axis=1)
        return [f"item {id}: its stored vector differs from its stored text" for id in ids[is_wrong]]

    def recompute_similarities(self, generation: Generation, edges: Edges) -> Float64:
        return recompute_similarities(generation, self.recipe(generation.manifest.recipe), edges)
