from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

URL = "/v1/collections/nci"


@pytest.fixture(scope="module")
def similarity(client: httpx.Client) -> np.ndarray:
    """Return similarities of shape (N, N), computed by RDKit."""
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"])) for item in items]
    return np.array([DataStructs.BulkTanimotoSimilarity(each, prints) for each in prints])


def expected(similarity: np.ndarray, id: int, threshold: float) -> list[int]:
    """Return neighbors by brute force, most similar first, then by id."""
    close = [other for other in np.flatnonzero(similarity[id] >= threshold).tolist() if other != id]
    return sorted(close, key=lambda other: (-similarity[id, other], other))


@pytest.mark.parametrize("threshold", [None, 0.4, 0.5, 0.75, 1.0])
def test_neighbors_equal_brute_force(client: httpx.Client, similarity: np.ndarray, threshold: float | None) -> None:
    for id in range(0, len(similarity), 7):
        query = {"limit": 1000} | ({} if threshold is None else {"min_similarity": threshold})
        reply = client.get(f"{URL}/items/{id}/neighbors", params=query).json()
        expected_ids = expected(similarity, id, threshold or 0.4)
        assert [each["item"]["id"] for each in reply["neighbors"]] == expected_ids
        assert [each["similarity"] for each in reply["neighbors"]] == pytest.approx(
            similarity[id, expected_ids], abs=1e-6
        )
        assert (reply["item"]["id"], reply["total"], reply["next_cursor"]) == (id, len(expected_ids), None)
        assert reply["capped"] is False


def test_pages_have_all_neighbors(client: httpx.Client, similarity: np.ndarray) -> None:
    id = int((similarity >= 0.4).sum(axis=0).argmax())
    expected_ids, actual, parameters = expected(similarity, id, 0.4), [], {"limit": 3}
    while True:
        page = client.get(f"{URL}/items/{id}/neighbors", params=parameters).json()
        actual += [each["item"]["id"] for each in page["neighbors"]]
        assert page["total"] == len(expected_ids) > 3
        if page["next_cursor"] is None:
            break
        parameters["cursor"] = page["next_cursor"]
    assert actual == expected_ids


def test_similarities_are_printed_as_the_shortest_float32_text(client: httpx.Client) -> None:
    texts = set()
    for id in range(40):
        text = client.get(f"{URL}/items/{id}/neighbors").text
        texts |= {part.split("}")[0] for part in text.split('"similarity":')[1:]}
    assert len(texts) > 20
    assert all(text == str(np.float32(text)) for text in texts)


def test_printed_similarity_passes_as_a_threshold(client: httpx.Client, similarity: np.ndarray) -> None:
    id = int((similarity >= 0.4).sum(axis=0).argmax())
    near = client.get(f"{URL}/items/{id}/neighbors").json()["neighbors"]
    for rank, each in enumerate(near):
        query = {"min_similarity": each["similarity"]}
        assert client.get(f"{URL}/items/{id}/neighbors", params=query).json()["total"] > rank


def test_threshold_is_rounded_to_float32_before_its_check(client: httpx.Client) -> None:
    assert client.get(f"{URL}/items/5/neighbors", params={"min_similarity": 0.4 - 1e-9}).status_code == 200
    reply = client.get(f"{URL}/items/5/neighbors", params={"min_similarity": 0.399})
    assert reply.status_code == 422
    assert "0.4" in reply.json()["expected"]


def test_capped_is_null_if_truncation_is_unknown(client: httpx.Client) -> None:
    reply = client.get("/v1/collections/graphs/items/0/neighbors").json()
    assert reply["capped"] is None
    assert [each["item"]["id"] for each in reply["neighbors"]] == [1]


def test_capped_is_true_if_pairs_were_dropped(own_folder: Path, serve: Callable, tmp_path: Path) -> None:
    from graphkin.ingest.pipeline import ingest
    from graphkin.similarity.molecules.recipe import resolve
    from graphkin.store import open_store

    file = tmp_path / "alkanes.smi"
    file.write_text("\n".join("C" * n for n in range(8, 20)) + "\n")
    with open_store(own_folder) as store:
        ingest(store, "alkanes", [str(file)], resolve(top_k=2))
    with serve(own_folder) as client:
        replies = [client.get(f"/v1/collections/alkanes/items/{id}/neighbors").json() for id in range(12)]
    assert any(reply["capped"] for reply in replies)
    assert all(reply["capped"] == (reply["item"]["dropped"] > 0) for reply in replies)


@pytest.mark.parametrize("limit", [50, 1000])
def test_repeated_reply_is_identical(client: httpx.Client, limit: int) -> None:
    """Short pages are computed inline, long ones in another thread, and the second reply reuses cached texts."""
    first = client.get(f"{URL}/items/9/neighbors", params={"limit": limit})
    assert client.get(f"{URL}/items/9/neighbors", params={"limit": limit}).content == first.content
