"""Queries are read like ingested records, and hits equal those of RDKit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rdkit import Chem, DataStructs

from graphkin.collection.structures import read_structure
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.reader import MoleculeReader
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.molecules.search import MoleculeSearch
from graphkin.store.base import Generation

MACCS = resolve(fingerprint={"name": "maccs"})
QUERIES = ["c1ccccc1C(=O)O", "CCO", "C", "CC(=O)Oc1ccccc1C(=O)O", "O=C1C=CC(=O)C=C1", "[Na+].[Cl-]"]


@pytest.fixture(scope="module")
def molecules(nci_molecules: list[Chem.Mol]) -> list[Chem.Mol]:
    """Return few enough molecules for many searches, some of them with equal MACCS keys."""
    return nci_molecules[:400]


@pytest.fixture(scope="module")
def maccs_collection(generation: Callable[..., Generation], molecules: list[Chem.Mol]) -> Generation:
    """Return a collection whose 166 keys leave many ties. Hardly any edge is stored."""
    return generation(molecules, resolve(fingerprint={"name": "maccs"}, threshold=0.95))


@pytest.fixture(scope="module")
def exact(molecules: list[Chem.Mol], generators: Any) -> Callable[[str], np.ndarray]:
    """Return exact(smiles), RDKit's float64 similarity to each item."""
    vectors = [generators["maccs"](molecule) for molecule in molecules]
    return lambda smiles: np.array(
        DataStructs.BulkTanimotoSimilarity(generators["maccs"](Chem.MolFromSmiles(smiles)), vectors)
    )


@pytest.mark.parametrize("smiles", QUERIES)
@pytest.mark.parametrize("threshold", [None, 0.3, 0.5, 0.7, 1.0])
def test_hits_equal_rdkit(maccs_collection: Generation, exact: Any, smiles: str, threshold: float | None) -> None:
    similarity = exact(smiles).astype(np.float32)
    passing = [id for id in range(400) if similarity[id] >= np.float32(threshold or 0)]
    ranked = sorted(passing, key=lambda item: (-similarity[item], item))
    for limit in (1, 2, 5, 10, 37, 399, 400, 1000):
        hits = MoleculeSearch(maccs_collection).search(read_structure(MACCS, smiles=smiles), threshold, limit)
        assert hits.ids.dtype == np.int32
        assert hits.similarity.dtype == np.float32
        assert hits.ids.tolist() == ranked[:limit]
        assert hits.similarity.tolist() == similarity[ranked[:limit]].tolist()
        assert hits.total == (None if threshold is None else len(passing))


@pytest.mark.parametrize("smiles", QUERIES)
def test_similarities_to_a_structure_equal_rdkit(maccs_collection: Generation, exact: Any, smiles: str) -> None:
    search, query = MoleculeSearch(maccs_collection), read_structure(MACCS, smiles=smiles)
    assert search.similarities(query).tolist() == exact(smiles).tolist()
    ids = np.array([7, 399, 0, 7], np.int32)
    assert search.similarities(query, ids).tolist() == exact(smiles)[ids].tolist()


def test_each_limit_cuts_ties_by_id(maccs_collection: Generation, exact: Any) -> None:
    similarity = exact("CCO").astype(np.float32)
    ranked = sorted(range(400), key=lambda item: (-similarity[item], item))
    assert len(np.unique(similarity)) < 200
    search, query = MoleculeSearch(maccs_collection), read_structure(MACCS, smiles="CCO")
    for limit in range(1, 401):
        assert search.search(query, None, limit).ids.tolist() == ranked[:limit]


def test_thresholds_are_compared_as_float32(maccs_collection: Generation, exact: Any) -> None:
    """A threshold that was printed for a hit finds this hit again."""
    search, query = MoleculeSearch(maccs_collection), read_structure(MACCS, smiles="CCO")
    for similarity in np.unique(exact("CCO"))[1:]:
        stored = np.float32(similarity)
        for threshold in (float(similarity), float(stored), float(str(stored))):
            assert search.search(query, threshold, 400).similarity.min() == stored


def test_item_is_its_own_hit(maccs_collection: Generation, molecules: list[Chem.Mol]) -> None:
    search = MoleculeSearch(maccs_collection)
    for id in range(0, 400, 20):
        hits = search.search(read_structure(MACCS, smiles=Chem.MolToSmiles(molecules[id])), 1.0, 400)
        assert id in hits.ids.tolist()
        assert (hits.similarity == 1).all()


def test_search_without_hits_returns_none(maccs_collection: Generation) -> None:
    hits = MoleculeSearch(maccs_collection).search(read_structure(MACCS, smiles="[U]"), 1.0, 10)
    assert (len(hits.ids), hits.total) == (0, 0)


@pytest.mark.parametrize("name", ["morgan", "rdkit", "maccs", "atompair", "torsion"])
def test_query_in_any_format_equals_the_ingested_record(name: str) -> None:
    recipe = resolve(fingerprint={"name": name}, standardise=["largest_fragment", "uncharge"])
    molecule = Chem.MolFromSmiles("[Na+].[O-]C(=O)c1ccccc1OC1CO1")
    ways: dict[str, Callable[[Chem.Mol], str]] = {
        "smiles": Chem.MolToSmiles,
        "inchi": Chem.MolToInchi,
        "molblock": Chem.MolToMolBlock,
    }
    reader, fingerprinter = MoleculeReader(recipe), Fingerprinter(recipe.fingerprint)
    record = reader.read("OC(=O)c1c(OC2OC2)cccc1", "smiles")
    for way, write in ways.items():
        query = read_structure(recipe, **{way: write(molecule)})
        assert query.smiles == reader.describe(record).smiles == "O=C(O)c1ccccc1OC1CO1"
        assert query.arrays[0].tobytes() == fingerprinter.compute_packed(record)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({}, "exactly one of"),
        ({"smiles": "C", "inchi": "InChI=1S/CH4/h1H4"}, "exactly one of"),
        ({"smiles": ""}, "empty"),
        ({"smiles": "C1CC"}, "unclosed ring"),
        ({"smiles": "CC ethane"}, "white space"),
        ({"smiles": "C" * 100_000}, "more than 10000"),
        ({"smiles": "C" * 1_000_001}, "too long"),
        ({"smiles": "C" * 5000}, "5000 atoms"),
        ({"smiles": "C\0C"}, "NUL"),
        ({"smiles": "C\udcff"}, "not Unicode"),
        ({"inchi": "CCO"}, "cannot read this inchi"),
        ({"molblock": "x"}, "not a molecule"),
        ({"molblock": "é" * 500_001}, "more than 1000000"),
    ],
)
def test_invalid_queries_are_refused(query: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as error:
        read_structure(resolve(), **query)
    assert len(str(error.value).encode()) < 2_000


def test_graph_query_of_molecules_is_refused() -> None:
    with pytest.raises(Conflict, match="molecules") as error:
        read_structure(resolve(), graph="{}")
    assert error.value.expected == "one of smiles, inchi, molblock, fingerprint"


def test_other_rdkit_version_may_search_equal_fingerprints(
    generation: Callable[..., Generation], molecules: list[Chem.Mol]
) -> None:
    old = generation(molecules[:50], rdkit="2020.03.1")
    hits = MoleculeSearch(old).search(read_structure(resolve(), smiles=Chem.MolToSmiles(molecules[7])), 1.0, 5)
    assert 7 in hits.ids


def test_other_rdkit_version_may_not_search_different_fingerprints(
    generation: Callable[..., Generation], molecules: list[Chem.Mol], packed: Any, generators: Any
) -> None:
    words = packed([generators["morgan"](molecule) for molecule in molecules[:50]]) ^ np.uint64(1)
    with pytest.raises(Conflict, match="other fingerprints") as error:
        MoleculeSearch(generation(molecules[:50], words=words, rdkit="2020.03.1"))
    assert error.value.expected == "RDKit 2020.03.1"
    MoleculeSearch(generation(molecules[:50], words=words))  # the same RDKit is trusted
