"""POST compare and POST compare/rows equal RDKit's comparison of every pair."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from graphkin.client import Graphkin
from graphkin.protocol.errors import Conflict
from graphkin.store import open_store
from tests.e2e.api.conftest import ingest
from tests.until import until, until_available

URL = "/v1/collections/catalog"
ARROW = {"Accept": "application/vnd.apache.arrow.stream"}
CATALOG, CANDIDATES = slice(0, 300), slice(220, 420)  # The two share 80 records.


@pytest.fixture(scope="module")
def folder(nci_smiles: list[str], graphs: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with two overlapping collections, and with others that cannot be compared with them."""
    folder = tmp_path_factory.mktemp("comparison")
    lines = [smiles for smiles in nci_smiles if Chem.MolFromSmiles(smiles)]
    with open_store(folder / "store", create=True) as store:
        ingest(store, "catalog", lines[CATALOG], folder)
        ingest(store, "candidates", lines[CANDIDATES], folder)
        ingest(store, "xenon", ["[Xe]"], folder)
        ingest(store, "maccs", lines[:20], folder, fingerprint={"name": "maccs"})
        ingest(store, "uncharged", lines[:20], folder, standardise=("uncharge",))
        graphs.publish(store, "graphs")
    return folder / "store"


@pytest.fixture(scope="module")
def server(folder: Path, serve: Callable[..., AbstractContextManager[httpx.Client]]) -> Iterator[httpx.Client]:
    with serve(folder) as client:
        yield client


def post(
    server: httpx.Client, path: str, body: dict[str, Any], headers: dict[str, str] | None = None
) -> httpx.Response:
    return until_available(lambda: server.post(path, json=body, headers=headers))


def smiles_of(server: httpx.Client, collection: str) -> list[str]:
    items = server.get(f"/v1/collections/{collection}/items", params={"limit": 1000}).json()["items"]
    return [item["smiles"] for item in items]


@pytest.fixture(scope="module")
def oracle(server: httpx.Client) -> list[tuple[bool, float, set[int]]]:
    """Return whether the catalog has each candidate, and the highest similarity of RDKit and the ids that have it."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    catalog, candidates = smiles_of(server, "catalog"), smiles_of(server, "candidates")
    bits = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in catalog]
    rows = []
    for smiles in candidates:
        query = generator.GetFingerprint(Chem.MolFromSmiles(smiles))
        similarity = np.array(DataStructs.BulkTanimotoSimilarity(query, bits))
        same = {catalog.index(smiles)} if smiles in catalog else set()
        rows.append((smiles in catalog, similarity.max(), same or {*np.flatnonzero(similarity == similarity.max())}))
    return rows


def relation_of(is_identical: bool, similarity: float, threshold: float) -> str:
    return "identical" if is_identical else "near duplicate" if similarity >= threshold else "novel"


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7])
def test_rows_equal_rdkit(server: httpx.Client, oracle: list[tuple[bool, float, set[int]]], threshold: float) -> None:
    reply = post(server, f"{URL}/compare", {"other": "candidates", "threshold": threshold, "limit": 1000}).json()
    assert reply["total"] == len(reply["rows"]) == len(oracle) > 150
    expected = [relation_of(is_identical, highest, threshold) for is_identical, highest, _ in oracle]
    assert [row["relation"] for row in reply["rows"]] == expected
    for row, (_, highest, nearest) in zip(reply["rows"], oracle, strict=True):
        assert row["similarity"] == pytest.approx(highest, abs=1e-7)
        assert row["nearest"]["id"] in nearest
    counts = {name: expected.count(name) for name in ("identical", "near duplicate", "novel")}
    assert [*reply["counts"].values()] == [*counts.values()]
    assert min(counts.values()) > 0
    items = server.get("/v1/collections/candidates/items", params={"limit": 1000}).json()["items"]
    assert [row["item"] for row in reply["rows"]] == items


def test_item_without_common_bits_has_no_nearest_item(server: httpx.Client) -> None:
    body = {"other": "candidates", "limit": 1000}
    rows = post(server, "/v1/collections/xenon/compare", body).json()["rows"]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    xenon = generator.GetFingerprint(Chem.MolFromSmiles("[Xe]"))
    bits = [generator.GetFingerprint(Chem.MolFromSmiles(row["item"]["smiles"])) for row in rows]
    shares_a_bit = [similarity > 0 for similarity in DataStructs.BulkTanimotoSimilarity(xenon, bits)]
    assert [row["nearest"] is not None for row in rows] == shares_a_bit
    assert [row["similarity"] is not None for row in rows] == shares_a_bit
    assert shares_a_bit.count(False) > 100
    assert {row["relation"] for row in rows} == {"novel"}


@pytest.mark.parametrize("order", ["id", "closest", "farthest"])
@pytest.mark.parametrize("relation", [None, "near duplicate", "novel"])
def test_pages_together_are_the_selected_rows(server: httpx.Client, order: str, relation: str | None) -> None:
    body = {"other": "candidates", "threshold": 0.5, "order": order, "relation": relation}
    whole = post(server, f"{URL}/compare", {**body, "limit": 1000}).json()
    rows, cursor = [], None
    while True:
        page = post(server, f"{URL}/compare", {**body, "limit": 37, "cursor": cursor}).json()
        rows += page["rows"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert rows == whole["rows"]
    if relation:
        assert {row["relation"] for row in rows} == {relation}
    assert len(rows) == whole["total"]
    keys = [row["similarity"] or 0 for row in rows]
    ordered = {"id": [row["item"]["id"] for row in rows], "closest": [-key for key in keys], "farthest": keys}[order]
    assert ordered == sorted(ordered)


def test_rows_are_the_pages_as_a_table(server: httpx.Client) -> None:
    body = {"other": "candidates", "threshold": 0.4}
    pages = post(server, f"{URL}/compare", {**body, "limit": 1000}).json()
    table = pa.ipc.open_stream(
        post(server, f"{URL}/compare/rows", {**body, "structures": True}, ARROW).content
    ).read_all()
    expected = [
        {
            "id": row["item"]["id"],
            "relation": row["relation"],
            "similarity": row["similarity"],
            "nearest": row["nearest"] and row["nearest"]["id"],
            "name": next(iter(row["item"]["names"]), None),
            "smiles": row["item"]["smiles"],
            "nearest_name": row["nearest"] and next(iter(row["nearest"]["names"]), None),
            "nearest_smiles": row["nearest"] and row["nearest"]["smiles"],
        }
        for row in pages["rows"]
    ]
    rows = table.to_pylist()
    assert [{**row, "similarity": None} for row in rows] == [{**row, "similarity": None} for row in expected]
    assert (
        table["similarity"].to_pylist() == pa.array([row["similarity"] for row in expected], pa.float32()).to_pylist()
    )
    lines = post(server, f"{URL}/compare/rows", body).text.splitlines()
    assert [httpx.Response(200, text=line).json() for line in lines] == [
        {name: row[name] for name in ("id", "relation", "similarity", "nearest")} for row in expected
    ]


def test_identical_items_are_the_same_in_both_directions(server: httpx.Client) -> None:
    there = post(server, f"{URL}/compare", {"other": "candidates"}).json()["counts"]
    back = post(server, "/v1/collections/candidates/compare", {"other": "catalog"}).json()["counts"]
    assert there["identical"] == back["identical"] > 50


def test_collection_is_identical_to_itself(server: httpx.Client) -> None:
    reply = post(server, f"{URL}/compare", {"other": "catalog"}).json()
    assert reply["counts"] == {"identical": reply["total"], "near_duplicates": 0, "novel": 0}
    assert all(row["item"] == row["nearest"] and row["similarity"] == 1 for row in reply["rows"])


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("maccs", ["MACCS", "Morgan", "graphkin compare"]),
        ("uncharged", ["standardization: uncharge", "standardization: none"]),
        ("graphs", ["collection of graphs", "molecules"]),
    ],
)
def test_incompatible_collections_are_refused(server: httpx.Client, other: str, words: list[str]) -> None:
    for path in (f"{URL}/compare", f"{URL}/compare/rows"):
        reply = server.post(path, json={"other": other})
        assert reply.status_code == 409
        problem = reply.json()
        text = " ".join(map(str, (problem["detail"], problem["expected"], problem["hint"])))
        assert all(word in text for word in words), text


def test_unknown_collections_and_generations_are_not_found(server: httpx.Client) -> None:
    assert server.post(f"{URL}/compare", json={"other": "nowhere"}).status_code == 404
    reply = server.post(f"{URL}/compare", json={"other": "candidates", "other_generation": "0" * 64})
    assert (reply.status_code, reply.json()["given"]) == (404, "0" * 64)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"other": 1},
        {"other": "candidates", "threshold": 0},
        {"other": "candidates", "threshold": 1.5},
        {"other": "candidates", "relation": "near"},
        {"other": "candidates", "order": "best"},
        {"other": "candidates", "limit": 0},
        {"other": "candidates", "unknown": 1},
    ],
)
def test_invalid_requests_are_refused(server: httpx.Client, body: dict[str, Any]) -> None:
    assert server.post(f"{URL}/compare", json=body).status_code == 422


def test_cursor_belongs_to_both_generations(
    folder: Path, serve: Callable[..., AbstractContextManager[httpx.Client]], tmp_path: Path, nci_smiles: list[str]
) -> None:
    with open_store(tmp_path / "store", create=True) as store:
        ingest(store, "catalog", nci_smiles[:10], tmp_path)
        first = ingest(store, "candidates", nci_smiles[:8], tmp_path)
        with serve(tmp_path / "store") as server:
            body = {"other": "candidates", "limit": 3}
            cursor = post(server, f"{URL}/compare", body).json()["next_cursor"]
            assert server.post(f"{URL}/compare", json={**body, "threshold": 0.5, "cursor": cursor}).status_code == 400
            ingest(store, "candidates", nci_smiles[2:9], tmp_path)
            problem = until(lambda: server.post(f"{URL}/compare", json={**body, "cursor": cursor}).json().get("detail"))
            assert "another query or generation" in problem
            pinned = {**body, "other_generation": first}
            assert post(server, f"{URL}/compare", {**pinned, "cursor": cursor}).json()["other_generation"] == first


def test_damaged_other_collection_is_reported(
    folder: Path, serve: Callable[..., AbstractContextManager[httpx.Client]], tmp_path: Path, nci_smiles: list[str]
) -> None:
    with open_store(tmp_path / "store", create=True) as store:
        ingest(store, "catalog", nci_smiles[:10], tmp_path)
        generation = ingest(store, "candidates", nci_smiles[:8], tmp_path)
    file = tmp_path / "store" / "collections" / "candidates" / generation / "fingerprints.npy"
    file.write_bytes(file.read_bytes()[:100])
    with serve(tmp_path / "store") as server:
        reply = server.post(f"{URL}/compare", json={"other": "candidates"})
        assert (reply.status_code, reply.json()["title"]) == (503, "Damaged")
        assert server.get(f"{URL}/items/0").status_code == 200


def test_client_returns_the_reply(server: httpx.Client) -> None:
    with Graphkin(str(server.base_url)) as client:
        catalog = client.collection("catalog")
        page = catalog.compare("candidates", 0.5, relation="novel", order="farthest")
        body = {"other": "candidates", "threshold": 0.5, "relation": "novel", "order": "farthest"}
        expected = post(server, f"{URL}/compare", {**body, "limit": 1000}).json()
        assert page.model_dump() == expected
        assert catalog.compare("candidates", 0.5, relation="novel", order="farthest", limit=3).rows == page.rows[:3]
        table = catalog.compare_rows("candidates", 0.5, relation="novel", order="farthest", structures=True)
        assert table["id"].to_pylist() == [row["item"]["id"] for row in expected["rows"]]
        assert table["smiles"].to_pylist() == [row["item"]["smiles"] for row in expected["rows"]]
        with pytest.raises(Conflict, match="read differently"):
            catalog.compare("maccs")
