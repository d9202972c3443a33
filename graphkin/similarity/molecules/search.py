"""Exact search in a generation of molecules."""

from threading import Lock

import numpy as np
from rdkit import rdBase

from graphkin.protocol.errors import Conflict
from graphkin.protocol.measure import Measure
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.molecules.counts import CountSearch
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.molecules.recomputation import recompute_fingerprints
from graphkin.similarity.tanimoto import TanimotoSearch
from graphkin.store.base import Generation
from graphkin.store.records import UInt64

_SAMPLE = 16  # number of fingerprints that are compared with those of the installed RDKit


class MoleculeSearch(TanimotoSearch):
    """Search in a generation of molecules. Molecules with the same canonical SMILES are identical.

    Raises:
        Conflict: The installed RDKit computes other fingerprints than the version that built the generation.
    """

    def __init__(self, generation: Generation) -> None:
        self._recipe = MoleculeRecipe.model_validate(generation.manifest.recipe)
        super().__init__(generation, self._recipe.fingerprint.words)
        self._counts_lock = Lock()
        self._counts: CountSearch | None = None
        if not self._recipe.fingerprint.is_precomputed:
            self._require_compatible_rdkit()

    def _require_compatible_rdkit(self) -> None:
        generation = self._generation
        version = generation.manifest.versions["rdkit"]
        if version == rdBase.rdkitVersion:
            return
        ids = np.unique(np.linspace(0, generation.size - 1, _SAMPLE).astype(np.int32))
        if not np.array_equal(recompute_fingerprints(generation, self._recipe, ids), self._fingerprints.words[ids]):
            raise Conflict(
                "the installed RDKit computes other fingerprints than the RDKit that built the collection",
                given=f"RDKit {rdBase.rdkitVersion}",
                expected=f"RDKit {version}",
                hint=f"install RDKit {version}, or ingest the collection again",
            )

    def with_measure(self, measure: Measure) -> Search:
        if measure.name != "counts":
            return super().with_measure(measure)
        with self._counts_lock:
            if self._counts is None:
                self._counts = CountSearch(self, self._generation, self._recipe.fingerprint)
            return self._counts

    def require_comparable(self, query: Query) -> None:
        self._bits(query)

    def _bits(self, query: Query) -> UInt64:
        """Return the packed fingerprint of a query, (W,) uint64.

        If the fingerprints came with the records, the fingerprint of a query molecule is that of the identical stored
        molecule.

        Raises:
            Conflict: There is no identical stored molecule.
        """
        if query.arrays:
            return super()._bits(query)
        if (stored := self.find_identical(query)) is None:
            raise Conflict(
                "no fingerprint can be computed for a new molecule: those of this collection "
                "were ingested with the molecules",
                given=query.text,
                expected="a molecule of the collection, or a fingerprint",
                hint="search with a molecule of the collection, or with a fingerprint",
            )
        bits: UInt64 = self._fingerprints.words[stored]
        return bits

    def find_identical(self, query: Query) -> int | None:
        if query.smiles is None:  # a fingerprint does not identify a molecule
            return None
        return next(iter(self._generation.find("smiles", query.smiles, limit=1)), None)
