"""Ad-hoc search: any structure against every item of a molecule collection, exactly."""

from dataclasses import dataclass

import numpy as np
from rdkit import rdBase

from ingest.popcount import common_with
from ingest.query import Query
from ingest.recipe import Recipe
from ingest.verify import recomputed
from store.base import Generation, rounded
from store.errors import Conflict
from store.records import Float32, Int32

_SAMPLED = 16


@dataclass(frozen=True)
class Hits:
    """ids (H,) int32 and similarity (H,) float32, most similar first, then id; total: how many pass, or None."""

    ids: Int32
    similarity: Float32
    total: int | None


class StructureSearch:
    """Searches one generation. Raises `Conflict` for other kinds than molecules, and where this RDKit computes other
    fingerprints than the one that built the generation."""

    def __init__(self, generation: Generation) -> None:
        if generation.manifest.kind != "molecule":
            raise Conflict(
                "structures are searched in collections of molecules",
                given=generation.manifest.kind,
                expected="a collection of kind molecule",
            )
        self._fingerprints = generation.fingerprints()
        self._require_same_rdkit(generation)

    def _require_same_rdkit(self, generation: Generation) -> None:
        built_with = generation.manifest.versions["rdkit"]
        if built_with == rdBase.rdkitVersion:
            return
        ids = np.unique(np.linspace(0, generation.size - 1, _SAMPLED).astype(np.int32))
        recipe = Recipe.model_validate(generation.manifest.recipe)
        if not np.array_equal(recomputed(generation, recipe, ids), self._fingerprints.words[ids]):
            raise Conflict(
                "this RDKit computes other fingerprints than the one that built the collection",
                given=rdBase.rdkitVersion,
                expected=built_with,
                hint="install that RDKit, or ingest the collection again",
            )

    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        """The `limit` most similar items with Tanimoto similarity ≥ min_similarity (as float32), uncapped by the
        hierarchy's cap; an item equal to the query is among them. `total` is counted only with a threshold."""
        shared = common_with(self._fingerprints.words, query.fingerprint)
        union = self._fingerprints.popcounts + np.bitwise_count(query.fingerprint).sum(dtype=np.int32) - shared
        similarity = (shared / np.maximum(union, 1)).astype(np.float32)
        passing = np.flatnonzero(similarity >= rounded(min_similarity))
        if len(passing) > limit:
            worst = np.partition(similarity[passing], len(passing) - limit)[len(passing) - limit]
            near = passing[similarity[passing] >= worst]
        else:
            near = passing
        ids = near[np.argsort(-similarity[near], kind="stable")][:limit].astype(np.int32)
        return Hits(ids, similarity[ids], None if min_similarity is None else len(passing))
