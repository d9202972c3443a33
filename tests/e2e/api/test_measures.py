"""Searches by another measure than the collection's, beside RDKit's own."""

from typing import Any

import httpx
import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from graphkin.client import Graphkin
from graphkin.protocol.measure import Measure

URL = "/v1/collections/nci/search"
GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
NONE_LIKE_IT = "[Og]"


@pytest.fixture(scope="module")
def molecules(client: httpx.Client) -> list[Chem.Mol]:
    items = client.get("/v1/collections/nci/items", params={"limit": 1000}).json()["items"]
    return [Chem.MolFromSmiles(item["smiles"]) for item in items]


def expected(molecules: list[Chem.Mol], smiles: str, measure: dict[str, Any]) -> np.ndarray:
    """By RDKit alone."""
    query = Chem.MolFromSmiles(smiles)
    if measure["name"] == "counts":
        counts = [GENERATOR.GetSparseCountFingerprint(molecule) for molecule in molecules]
        return np.array(DataStructs.BulkTanimotoSimilarity(GENERATOR.GetSparseCountFingerprint(query), counts))
    bits = [GENERATOR.GetFingerprint(molecule) for molecule in molecules]
    asked = GENERATOR.GetFingerprint(query)
    weights = measure["alpha"], measure["beta"]
    return np.array([DataStructs.TverskySimilarity(asked, each, *weights) for each in bits])


@pytest.mark.parametrize("smiles", [ASPIRIN, "c1ccccc1", NONE_LIKE_IT])
@pytest.mark.parametrize(
    "measure",
    [
        {"name": "tversky", "alpha": 1, "beta": 0},
        {"name": "tversky", "alpha": 0.1, "beta": 0.9},
        {"name": "tversky", "alpha": 1, "beta": 1},
        {"name": "tversky", "alpha": 0, "beta": 1},
        {"name": "tversky", "alpha": 0.75, "beta": 0.25},
        {"name": "counts"},
    ],
)
def test_they_are_rdkits_numbers(
    client: httpx.Client, molecules: list[Chem.Mol], smiles: str, measure: dict[str, Any]
) -> None:
    similarity = expected(molecules, smiles, measure).astype(np.float32)
    found = client.post(URL, json={"smiles": smiles, "measure": measure, "limit": 1000}).json()
    assert found["total"] is None
    assert len(found["hits"]) == len(molecules)
    told = {hit["item"]["id"]: np.float32(hit["similarity"]) for hit in found["hits"]}
    assert [told[id] for id in range(len(molecules))] == pytest.approx(similarity.tolist(), rel=2e-7)
    order = [(-hit["similarity"], hit["item"]["id"]) for hit in found["hits"]]
    assert order == sorted(order)
    some = client.post(URL, json={"smiles": smiles, "measure": measure, "min_similarity": 0.33, "limit": 3}).json()
    assert some["total"] == (similarity >= np.float32(0.33)).sum()
    assert some["hits"] == found["hits"][: min(3, some["total"])]


def test_equal_weights_of_one_are_tanimoto(client: httpx.Client) -> None:
    body = {"smiles": ASPIRIN, "limit": 50}
    measured = client.post(URL, json={**body, "measure": {"name": "tversky", "alpha": 1, "beta": 1}}).json()
    assert measured == client.post(URL, json=body).json()


def test_a_fingerprint_is_compared_so_too(client: httpx.Client) -> None:
    measure = {"name": "tversky", "alpha": 0.2, "beta": 0.7}
    bits = DataStructs.BitVectToFPSText(GENERATOR.GetFingerprint(Chem.MolFromSmiles(ASPIRIN)))
    by_bits = client.post(URL, json={"fingerprint": bits, "measure": measure}).json()
    assert by_bits["hits"] == client.post(URL, json={"smiles": ASPIRIN, "measure": measure}).json()["hits"]
    refused = client.post(URL, json={"fingerprint": bits, "measure": {"name": "counts"}})
    assert (refused.status_code, refused.json()["expected"]) == (409, "smiles")


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ({"name": "tversky", "alpha": 1}, "needs both"),
        ({"name": "counts", "alpha": 1, "beta": 1}, "needs both"),
        ({"name": "tversky", "alpha": -1, "beta": 1}, "alpha"),
        ({"name": "tversky", "alpha": 1, "beta": 1.5}, "beta"),
        ({"name": "tversky", "alpha": 0, "beta": 0}, "not both 0"),
        ({"name": "dice"}, "name"),
    ],
)
def test_measures_that_there_are_not(client: httpx.Client, measure: dict[str, Any], said: str) -> None:
    refused = client.post(URL, json={"smiles": ASPIRIN, "measure": measure})
    assert refused.status_code == 422
    assert said in refused.json()["detail"]


@pytest.mark.parametrize("measure", [{"name": "tversky", "alpha": 1, "beta": 1}, {"name": "counts"}])
def test_graphs_are_not_compared_so(client: httpx.Client, measure: dict[str, Any]) -> None:
    body = {"graph": {"edges": [[0, 1]]}, "measure": measure}
    assert client.post("/v1/collections/social/search", json=body).status_code == 409


def test_the_client_asks_so(client: httpx.Client, molecules: list[Chem.Mol]) -> None:
    measure = {"name": "tversky", "alpha": 0.9, "beta": 0.1}
    with Graphkin(str(client.base_url)) as server:
        found = server.collection("nci").search(smiles=ASPIRIN, measure=Measure(**measure), limit=5)
    best = np.sort(expected(molecules, ASPIRIN, measure))[::-1][:5]
    assert [hit.similarity for hit in found.hits] == pytest.approx(best.tolist(), rel=2e-7)
