"""Similarity of molecules by the counts of their Morgan environments (min-max Tanimoto)."""

from collections.abc import Iterable
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import rdFingerprintGenerator

from graphkin.protocol.errors import Conflict
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.measures import ScannedSearch
from graphkin.similarity.molecules.recipe import FingerprintRecipe
from graphkin.similarity.stored_index import load_or_compute_index
from graphkin.store.base import Generation
from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32, Int64, UInt64

_RADIUS = 2  # for recipes without a radius


class Counts(NamedTuple):
    """The counts of Morgan environments in N molecules, as sparse rows.

    An environment is an atom with its neighborhood up to a radius, identified by RDKit's hash.

    Attributes:
        indptr: (N + 1,) int64; the entries of molecule i are at indptr[i] : indptr[i + 1].
        environment: (E,) uint64 environment of each entry, ascending within a molecule.
        times: (E,) int64 number of occurrences of the environment in the molecule.
    """

    indptr: Int64
    environment: UInt64
    times: Int64

    @classmethod
    def from_smiles(cls, molecules: Iterable[str], recipe: FingerprintRecipe) -> "Counts":
        """Count the environments of molecules in SMILES.

        Environments are not folded into a fixed number of bits. Radius and chirality are those of the recipe. The
        radius is 2 if the recipe has none.
        """
        generator = rdFingerprintGenerator.GetMorganGenerator(
            radius=_RADIUS if recipe.radius is None else recipe.radius, includeChirality=recipe.chirality
        )
        counts = [
            sorted(generator.GetSparseCountFingerprint(Chem.MolFromSmiles(smiles)).GetNonzeroElements().items())
            for smiles in molecules
        ]
        indptr = np.zeros(len(counts) + 1, np.int64)
        np.cumsum([len(entries) for entries in counts], out=indptr[1:])
        environment = np.fromiter((key for entries in counts for key, _ in entries), np.uint64, indptr[-1])
        return cls(
            indptr,
            environment,
            np.fromiter((times for entries in counts for _, times in entries), np.int64, indptr[-1]),
        )

    def is_valid_for(self, items: int) -> bool:
        """Return whether these are valid counts of `items` molecules.

        Data types, shapes, and the values that kernels use as indices are checked.
        """
        entries = len(self.environment)
        expected = {
            "indptr": (np.int64, items + 1),
            "environment": (np.uint64, entries),
            "times": (np.int64, entries),
        }
        return (
            all((array.dtype, *array.shape) == expected[name] for name, array in self._asdict().items())
            and self.indptr[0] == 0
            and self.indptr[-1] == entries
            and bool((np.diff(self.indptr) >= 0).all())
        )

    def row(self, item: int) -> "Counts":
        """Return the counts of one molecule."""
        entries = slice(self.indptr[item], self.indptr[item + 1])
        return Counts(
            np.array([0, entries.stop - entries.start]),
            np.array(self.environment[entries]),
            np.array(self.times[entries]),
        )


class CountSearch(ScannedSearch):
    """Search by the counts of Morgan environments.

    The counts of all molecules of a generation are computed once, and kept in the user's cache.

    Args:
        recipe_search: Search in the same generation by the measure of the recipe. It looks up identical items.
        generation: The generation to search.
        recipe: Settings of the fingerprint, whose radius and chirality the counts have.
    """

    def __init__(self, recipe_search: Search, generation: Generation, recipe: FingerprintRecipe) -> None:
        super().__init__(recipe_search)
        self._recipe = recipe
        key = f"counts {recipe.radius} {recipe.chirality} {rdBase.rdkitVersion} {version('graphkin')}"
        self._counts = load_or_compute_index(
            generation,
            key,
            Counts,
            lambda counts: counts.is_valid_for(generation.size),
            lambda: Counts.from_smiles(generation.structures(), recipe),
        )

    def similarities(self, reference: int | Query, others: Int32 | Int64 | slice = slice(None)) -> Float64:
        query = self._read(reference) if isinstance(reference, Query) else self._counts.row(reference)
        rows = np.arange(len(self._counts.indptr) - 1)[others]
        return _similarities(*self._counts, query.environment, query.times, rows)

    def _read(self, query: Query) -> Counts:
        if query.smiles is None:
            raise Conflict(
                "counts are computed from molecules, and a fingerprint has none",
                given="fingerprint",
                expected="a SMILES",
                hint="search with a SMILES, or without counts",
            )
        return Counts.from_smiles([query.smiles], self._recipe)


@kernel
def _similarities(
    indptr: Int64, environment: UInt64, times: Int64, query: UInt64, query_times: Int64, rows: Int64
) -> Float64:
    """Return the similarities of the molecules `rows` with a query, (n,) float64.

    For each environment, there is a smaller and a larger one of the two counts. The similarity is the sum of the
    smaller counts divided by the sum of the larger counts. It is 0 if no environment is common.
    """
    query_total = query_times.sum()
    similarities = np.zeros(len(rows), np.float64)
    for index in range(len(rows)):
        shared, total, query_entry = 0, query_total, 0
        for entry in range(indptr[rows[index]], indptr[rows[index] + 1]):
            total += times[entry]
            while query_entry < len(query) and query[query_entry] < environment[entry]:
                query_entry += 1
            if query_entry < len(query) and query[query_entry] == environment[entry]:
                shared += min(query_times[query_entry], times[entry])
        if shared:
            similarities[index] = shared / (total - shared)
    return similarities
