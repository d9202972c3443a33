"""The kind of item "fingerprint": bits that another program has computed of any object."""

from typing import ClassVar

import numpy as np
import pyarrow as pa

from graphkin.similarity.columns import fixed_width_array
from graphkin.similarity.fingerprints.describer import BitsDescriber
from graphkin.similarity.fingerprints.descriptors import BitsDescriptors
from graphkin.similarity.fingerprints.recipe import BitsRecipe
from graphkin.similarity.fingerprints.recomputation import recompute_similarities, recompute_words
from graphkin.similarity.kind import Kind, Query
from graphkin.similarity.packed import MAX_BITS, read_fingerprint, word_count
from graphkin.similarity.tanimoto import TanimotoSearch
from graphkin.store.base import Generation
from graphkin.store.identity import tie_ranks
from graphkin.store.records import Edges, FingerprintType, Float64


class BitsSearch(TanimotoSearch):
    """Search in a generation of fingerprints. Items with the same bits are identical."""

    def find_identical(self, query: Query) -> int | None:
        is_empty = not query.arrays[0].any()  # a search does not find it: its similarity is 0 even with itself
        equal = np.flatnonzero(self._fingerprints.popcounts == 0) if is_empty else self.search(query, 1.0, 1).ids
        return int(equal[0]) if len(equal) else None


class FingerprintKind(Kind[BitsRecipe]):
    """Fingerprints, compared by Tanimoto similarity."""

    name = "fingerprint"
    recipe_type = BitsRecipe
    describer = BitsDescriber
    plural = "fingerprints"
    computed_columns = ("popcount",)
    notations = ("fingerprint",)
    file_formats: ClassVar = dict.fromkeys(("fps", "npy", "parquet", "csv", "tsv"), "fingerprint")
    max_size = MAX_BITS

    def descriptors(self, items: pa.Table, recipe: BitsRecipe) -> BitsDescriptors:
        bits = fixed_width_array(items["fingerprint"], "<u8").reshape(len(items), -1)
        return BitsDescriptors(recipe, bits, tie_ranks(fixed_width_array(items["digest"], "<u8")))

    def load_descriptors(self, generation: Generation, recipe: BitsRecipe, digests: bytes) -> BitsDescriptors:
        return BitsDescriptors(recipe, generation.fingerprints().words, tie_ranks(digests))

    def warmup_descriptors(self, recipe: BitsRecipe) -> BitsDescriptors:
        return BitsDescriptors(recipe, np.ones((2, word_count(recipe.bits)), np.uint64), np.arange(2, dtype=np.uint64))

    def versions(self, recipe: BitsRecipe) -> dict[str, str]:  # noqa: ARG002
        return {}

    def fingerprint(self, recipe: BitsRecipe) -> FingerprintType:
        return FingerprintType(recipe.bits, recipe.type)

    def read(self, recipe: BitsRecipe, text: str, notation: str) -> Query:  # noqa: ARG002
        return Query(text.lower(), (read_fingerprint(text, recipe.bits),))

    def search(self, generation: Generation) -> BitsSearch:
        return BitsSearch(generation, word_count(self.recipe(generation.manifest.recipe).bits))

    def check_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        ids = random.choice(generation.size, min(sample, generation.size), replace=False).astype(np.int32)
        is_wrong = (recompute_words(generation, ids) != generation.fingerprints().words[ids]).any(axis=1)
        return [f"item {id}: its stored fingerprint differs from its stored text" for id in np.sort(ids[is_wrong])]

    def recompute_similarities(self, generation: Generation, edges: Edges) -> Float64:
        return recompute_similarities(generation, edges)
