"""Searches by another measure than the collection's, compared with RDKit."""

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
DISSIMILAR = "[Og]"


@pytest.fixture(scope="module")
def molecules(client: httpx.Client) -> list[Chem.Mol]:
    items = client.get("/v1/collections/nci/items", params={"limit": 1000}).json()["items"]
    return [Chem.MolFromSmiles(item["smiles"]) for item in items]


def expected(molecules: list[Chem.Mol], smiles: str, measure: dict[str, Any]) -> np.ndarray:
    """Return similarities to all molecules, computed by RDKit."""
    query = Chem.MolFromSmiles(smiles)
    if measure["name"] == "counts":
        counts = [GENERATOR.GetSparseCountFingerprint(molecule) for molecule in molecules]
        return np.array(DataStructs.BulkTanimotoSimilarity(GENERATOR.GetSparseCountFingerprint(query), counts))
    bits = [GENERATOR.GetFingerprint(molecule) for molecule in molecules]
    query_bits = GENERATOR.GetFingerprint(query)
    if measure["name"] == "dice":
        return np.array(DataStructs.BulkDiceSimilarity(query_bits, bits))
    if measure["name"] == "cosine":
        return np.array(DataStructs.BulkCosineSimilarity(query_bits, bits))
    weights = measure["alpha"], measure["beta"]
    return np.array([DataStructs.TverskySimilarity(query_bits, each, *weights) for each in bits])


@pytest.mark.parametrize("smiles", [ASPIRIN, "c1ccccc1", DISSIMILAR])
@pytest.mark.parametrize(
    "measure",
    [
        {"name": "tversky", "alpha": 1, "beta": 0},
        {"name": "tversky", "alpha": 0.1, "beta": 0.9},
        {"name": "tversky", "alpha": 1, "beta": 1},
        {"name": "tversky", "alpha": 0, "beta": 1},
        {"name": "tversky", "alpha": 0.75, "beta": 0.25},
        {"name": "dice"},
        {"name": "cosine"},
        {"name": "counts"},
    ],
)
def test_similarities_equal_rdkit(
    client: httpx.Client, molecules: list[Chem.Mol], smiles: str, measure: dict[str, Any]
) -> None:
    similarity = expected(molecules, smiles, measure).astype(np.float32)
    reply = client.post(URL, json={"smiles": smiles, "measure": measure, "limit": 1000}).json()
    assert reply["total"] is None
    assert len(reply["hits"]) == len(molecules)
    similarity_by_id = {hit["item"]["id"]: np.float32(hit["similarity"]) for hit in reply["hits"]}
    assert [similarity_by_id[id] for id in range(len(molecules))] == pytest.approx(similarity.tolist(), rel=2e-7)
    order = [(-hit["similarity"], hit["item"]["id"]) for hit in reply["hits"]]
    assert order == sorted(order)
    some = client.post(URL, json={"smiles": smiles, "measure": measure, "min_similarity": 0.33, "limit": 3}).json()
    assert some["total"] == (similarity >= np.float32(0.33)).sum()
    assert some["hits"] == reply["hits"][: min(3, some["total"])]


def test_tversky_with_weights_of_one_equals_tanimoto(client: httpx.Client) -> None:
    body = {"smiles": ASPIRIN, "limit": 50}
    tversky = client.post(URL, json={**body, "measure": {"name": "tversky", "alpha": 1, "beta": 1}}).json()
    assert tversky == client.post(URL, json=body).json()


def test_dice_equals_tversky_with_weights_of_one_half(client: httpx.Client) -> None:
    body = {"smiles": ASPIRIN, "limit": 50}
    tversky = client.post(URL, json={**body, "measure": {"name": "tversky", "alpha": 0.5, "beta": 0.5}}).json()
    assert tversky == client.post(URL, json={**body, "measure": {"name": "dice"}}).json()


@pytest.mark.parametrize("measure", [{"name": "tversky", "alpha": 0.2, "beta": 0.7}, {"name": "cosine"}])
def test_fingerprint_search_supports_measures_of_bits_but_not_counts(
    client: httpx.Client, measure: dict[str, Any]
) -> None:
    bits = DataStructs.BitVectToFPSText(GENERATOR.GetFingerprint(Chem.MolFromSmiles(ASPIRIN)))
    by_bits = client.post(URL, json={"fingerprint": bits, "measure": measure}).json()
    assert by_bits["hits"] == client.post(URL, json={"smiles": ASPIRIN, "measure": measure}).json()["hits"]
    refused = client.post(URL, json={"fingerprint": bits, "measure": {"name": "counts"}})
    assert (refused.status_code, refused.json()["expected"]) == (409, "a SMILES")


@pytest.mark.parametrize(
    ("measure", "detail"),
    [
        ({"name": "tversky", "alpha": 1}, "alpha and beta for tversky"),
        ({"name": "counts", "alpha": 1, "beta": 1}, "alpha and beta for tversky"),
        ({"name": "tversky", "alpha": -1, "beta": 1}, "alpha"),
        ({"name": "tversky", "alpha": 1, "beta": 1.5}, "beta"),
        ({"name": "tversky", "alpha": 0, "beta": 0}, "alpha or beta above 0"),
        ({"name": "dice", "alpha": 0.5, "beta": 0.5}, "neither of them for other measures"),
        ({"name": "russel"}, "name"),
    ],
)
def test_invalid_measures_are_refused(client: httpx.Client, measure: dict[str, Any], detail: str) -> None:
    refused = client.post(URL, json={"smiles": ASPIRIN, "measure": measure})
    assert refused.status_code == 422
    assert detail in refused.json()["detail"]


@pytest.mark.parametrize("measure", [{"name": "dice"}, {"name": "cosine"}, {"name": "counts"}])
def test_graph_search_refuses_fingerprint_measures(client: httpx.Client, measure: dict[str, Any]) -> None:
    body = {"graph": {"edges": [[0, 1]]}, "measure": measure}
    assert client.post("/v1/collections/social/search", json=body).status_code == 409


def test_client_search_accepts_a_measure(client: httpx.Client, molecules: list[Chem.Mol]) -> None:
    measure = {"name": "tversky", "alpha": 0.9, "beta": 0.1}
    with Graphkin(str(client.base_url)) as server:
        search_reply = server.collection("nci").search(smiles=ASPIRIN, measure=Measure(**measure), limit=5)
    best = np.sort(expected(molecules, ASPIRIN, measure))[::-1][:5]
    assert [hit.similarity for hit in search_reply.hits] == pytest.approx(best.tolist(), rel=2e-7)
