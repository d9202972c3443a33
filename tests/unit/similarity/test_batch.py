"""Many queries at once find what each of them finds alone, and what RDKit finds."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdkit import Chem, DataStructs

from graphkin.collection.structures import read_structure
from graphkin.similarity.batch import BatchSearch
from graphkin.similarity.hits import Hits, Matches
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.molecules.search import MoleculeSearch
from graphkin.similarity.planes import BitPlanes
from graphkin.store.base import Generation

Listed = list[tuple[list[int], list[float]]]


def _fingerprints(rows: int, density: float, seed: int) -> np.ndarray:
    """(rows, 2) of about this density in families, with empty, full and equal ones among them."""
    rng = np.random.default_rng(seed)
    bits = rng.random((rows // 20 + 1, 128)) < density
    bits = bits[rng.integers(0, len(bits), rows)] ^ (rng.random((rows, 128)) < 0.1)
    bits[rng.integers(0, rows, 2)] = False
    bits[rng.integers(0, rows, 2)] = True
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def _similarity(queries: np.ndarray, items: np.ndarray) -> np.ndarray:
    """(Q, N) float32, by the definition."""
    left, right = (np.unpackbits(words.view(np.uint8), axis=1).astype(np.float64) for words in (queries, items))
    shared = left @ right.T
    union = left.sum(axis=1)[:, np.newaxis] + right.sum(axis=1) - shared
    return (shared / np.maximum(union, 1)).astype(np.float32)


def _listed(found: Matches, queries: int) -> Listed:
    ends = np.searchsorted(found.query, np.arange(queries + 1)).tolist()
    return [(found.ids[a:b].tolist(), found.similarity[a:b].tolist()) for a, b in itertools.pairwise(ends)]


def _ranked(similarity: np.ndarray, min_similarity: float | None, limit: int) -> Listed:
    """What single searches are documented to find."""
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :limit]
    best = np.take_along_axis(similarity, order, axis=1)
    least = -1 if min_similarity is None else max(np.float32(min_similarity), np.finfo(np.float32).tiny)
    rows = zip(order, best, best >= least, strict=True)
    return [(ids[passing].tolist(), row[passing].tolist()) for ids, row, passing in rows]


@settings(max_examples=15)
@given(
    items=st.integers(1, 1000),
    queries=st.integers(1, 40),
    density=st.sampled_from([0.05, 0.2, 0.5, 0.9]),
    min_similarity=st.sampled_from([None, None, 0.01, 0.2, 0.3, 1 / 3, 0.7, 1.0]),
    limit=st.integers(1, 100),
    seed=st.integers(0, 2**32),
)
@example(items=9000, queries=1050, density=0.2, min_similarity=None, limit=10, seed=0)
@example(items=9000, queries=100, density=0.2, min_similarity=0.3, limit=100, seed=1)
def test_hits_equal_the_definition(
    items: int, queries: int, density: float, min_similarity: float | None, limit: int, seed: int
) -> None:
    stored = _fingerprints(items, density, seed)
    rng = np.random.default_rng(seed)
    asked = np.concatenate([_fingerprints(queries, density, seed + 1), stored[rng.integers(0, items, queries)]])
    similarity = _similarity(asked, stored)
    expected = _ranked(similarity, min_similarity, limit)
    too_few = []

    def alone(query: int) -> Hits:
        too_few.append(query)
        ids, found = expected[query]
        return Hits(np.array(ids, np.int32), np.array(found, np.float32))

    plan = BatchSearch(BitPlanes.from_words(stored), asked, min_similarity, limit, alone)
    found = Matches.concatenate(plan.matches(2))
    assert [each.dtype.name for each in (found.query, found.ids, found.similarity)] == ["int32", "int32", "float32"]
    assert _listed(found, len(asked)) == expected
    enough = np.flatnonzero((similarity >= 0.15).sum(axis=1) >= limit)
    assert not np.isin(too_few, enough).any()
    assert min_similarity is None or not too_few


@pytest.fixture(scope="module")
def molecules(nci_molecules: list[Chem.Mol]) -> list[Chem.Mol]:
    return nci_molecules[:1500]


@pytest.fixture(scope="module", params=["morgan", "maccs"])
def searched(
    request: pytest.FixtureRequest, generation: Callable[..., Generation], molecules: list[Chem.Mol]
) -> Generation:
    none = np.zeros((len(molecules), len(molecules)))
    return generation(molecules, resolve(fingerprint={"name": request.param}), similarity=none)


def test_hits_equal_rdkit_and_single_searches(
    searched: Generation, molecules: list[Chem.Mol], nci_molecules: list[Chem.Mol], generators: Any
) -> None:
    recipe = resolve(fingerprint=searched.manifest.recipe["fingerprint"])
    asked = [*nci_molecules[::50], Chem.MolFromSmiles("[U]"), Chem.MolFromSmiles("C")]
    queries = [read_structure(recipe, smiles=Chem.MolToSmiles(molecule)) for molecule in asked]
    fingerprint = generators[recipe.fingerprint.name]
    vectors = [fingerprint(molecule) for molecule in molecules]
    exact = [DataStructs.BulkTanimotoSimilarity(fingerprint(molecule), vectors) for molecule in asked]
    search = MoleculeSearch(searched)
    for min_similarity, limit in ((None, 1), (None, 10), (None, 100), (0.2, 100), (0.7, 3), (1.0, 10)):
        found = _listed(Matches.concatenate(search.search_all(queries, min_similarity, limit, 2)), len(queries))
        assert found == _ranked(np.array(exact, np.float32), min_similarity, limit)
        alone = [search.search(query, min_similarity, limit) for query in queries]
        assert found == [(hits.ids.tolist(), hits.similarity.tolist()) for hits in alone]


class _Counting(Search):
    """Finds the item whose id is the query's text."""

    def __init__(self) -> None:
        self.searched: list[str] = []

    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        self.searched.append(query.text)
        return Hits(np.array([int(query.text)], np.int32), np.ones(1, np.float32))

    def find_identical(self, query: Query) -> int | None:
        return int(query.text)

    def similarities(self, reference: int | Query, others: Any = slice(None)) -> np.ndarray:
        raise NotImplementedError


def test_other_searches_take_one_query_after_the_other_and_stop_when_nobody_reads() -> None:
    queries = [Query(str(number), ()) for number in range(100)]
    found = Matches.concatenate(_Counting().search_all(queries, None, 10, 2))
    assert found.query.tolist() == found.ids.tolist() == list(range(100))
    left = _Counting()
    parts = left.search_all(queries, None, 10, 1)
    next(parts)
    parts.close()
    assert len(left.searched) < 10


def test_batch_without_queries_has_no_hits() -> None:
    assert len(Matches.concatenate(_Counting().search_all([], None, 10, 1)).ids) == 0
