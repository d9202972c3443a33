"""Searches by fingerprint, and a collection of fingerprints, equal RDKit."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.ingest.readers import ReadOptions
from graphkin.similarity.fingerprints.recipe import resolve_bits
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=200)


@pytest.fixture(scope="module")
def molecules(nci_file: Path) -> dict[str, Any]:
    """Return the fingerprints of some molecules by name."""
    lines = (line.split() for line in nci_file.read_text().splitlines()[:60])
    return {name: GENERATOR.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles, name in lines}


@pytest.fixture(scope="module")
def bits(
    molecules: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
    serve: Callable[..., AbstractContextManager[httpx.Client]],
) -> Iterator[httpx.Client]:
    """Yield a client of a server with the collections `bits`, of fingerprints, and `given`, of molecules with supplied
    ones.
    """
    folder = tmp_path_factory.mktemp("bits")
    rows = [f"{DataStructs.BitVectToFPSText(bits)}\t{name}\n" for name, bits in molecules.items()]
    (folder / "bits.fps").write_text("".join(["#FPS1\n", *rows]))
    with open_store(folder / "store", create=True) as store:
        recipe = resolve_bits(bits=200, threshold=0.3)
        pipeline.ingest(store, "bits", [str(folder / "bits.fps")], recipe, IngestOptions(workers=1))
        (folder / "given.csv").write_text("smiles,fp\nCCO,0f\nCCN,1f\nCC,f0\n")
        supplied = resolve(fingerprint={"name": "given", "bits": 8})
        beside = IngestOptions(read=ReadOptions(fingerprint_column="fp"), workers=1)
        pipeline.ingest(store, "given", [str(folder / "given.csv")], supplied, beside)
    with serve(folder / "store") as client:
        yield client


@pytest.mark.parametrize("field", ["fingerprint", "structure"])
def test_fingerprint_search_equals_rdkit(bits: httpx.Client, molecules: dict[str, Any], field: str) -> None:
    query = GENERATOR.GetFingerprint(Chem.MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O"))
    body = {field: DataStructs.BitVectToFPSText(query), "min_similarity": 0.2, "limit": 1000}
    reply = bits.post("/v1/collections/bits/search", json=body).json()
    expected = {
        name: np.float32(similarity)
        for name, vector in molecules.items()
        if (similarity := DataStructs.TanimotoSimilarity(query, vector)) >= 0.2
    }
    assert {name: np.float32(hit["similarity"]) for hit in reply["hits"] for name in hit["item"]["names"]} == expected
    assert reply["query"] == {"smiles": None, "id": None}


def test_fingerprint_items_have_popcounts_and_positives(bits: httpx.Client, molecules: dict[str, Any]) -> None:
    assert bits.get("/v1/collections/bits").json()["kind"] == "fingerprint"
    name, vector = next(iter(molecules.items()))
    (item,) = bits.get("/v1/collections/bits/items", params={"name": name}).json()["items"]
    assert item["properties"] == {"popcount": vector.GetNumOnBits()}
    positives = bits.get(f"/v1/collections/bits/items/{item['id']}/positives?policy=first_order&k=2")
    assert positives.status_code == 200
    fps = bits.get("/v1/collections/bits/export", params={"what": "fingerprints", "format": "fps"}).text
    assert [line.split("\t")[0] for line in fps.splitlines() if line[0] != "#"][item["id"]] == (
        DataStructs.BitVectToFPSText(vector)
    )


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "detail"),
    [
        ("GET", "/items/0/depiction.svg", None, 409, "of this kind have no depiction"),
        ("GET", "/export?what=items&format=sdf", None, 409, "are not molecules"),
        ("POST", "/search", {"smiles": "CCO"}, 409, "no structures in this notation"),
        ("POST", "/search", {"fingerprint": "00"}, 422, "8 bits, not 200"),
        ("POST", "/search", {"fingerprint": "zz" * 25}, 422, "hexadecimal"),
    ],
)
def test_unsupported_requests_explain_why(
    bits: httpx.Client, method: str, path: str, body: object, status: int, detail: str
) -> None:
    reply = bits.request(method, f"/v1/collections/bits{path}", json=body)
    assert reply.status_code == status
    assert detail in reply.json()["detail"]


def test_fingerprint_and_structure_searches_agree(client: httpx.Client) -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    smiles = "CC(=O)Oc1ccccc1C(=O)O"
    field = DataStructs.BitVectToFPSText(generator.GetFingerprint(Chem.MolFromSmiles(smiles)))
    by_bits = client.post("/v1/collections/nci/search", json={"fingerprint": field}).json()
    by_structure = client.post("/v1/collections/nci/search", json={"smiles": smiles}).json()
    assert by_bits["hits"] == by_structure["hits"]
    assert by_bits["query"] == {"smiles": None, "id": None}
    refused = client.post("/v1/collections/social/search", json={"fingerprint": field})
    assert refused.status_code == 409


def test_supplied_fingerprints_are_searched(bits: httpx.Client) -> None:
    stored = bits.post("/v1/collections/given/search", json={"smiles": "OCC"}).json()
    assert stored["query"] == {"smiles": "CCO", "id": 0}
    assert [(hit["item"]["smiles"], hit["similarity"]) for hit in stored["hits"]] == [
        ("CCO", 1.0),
        ("CCN", 0.8),
        ("CC", 0.0),
    ]
    fingerprint_hits = bits.post(
        "/v1/collections/given/search", json={"fingerprint": "0F", "min_similarity": 0.5}
    ).json()
    assert fingerprint_hits["hits"] == stored["hits"][:2]
    refused = bits.post("/v1/collections/given/search", json={"smiles": "CCCC"})
    assert (refused.status_code, refused.json()["given"]) == (409, "CCCC")
    assert "or a fingerprint" in refused.json()["expected"]
    assert bits.get("/v1/collections/given/structure", params={"smiles": "CCCC"}).json()["id"] is None
