"""POST pick, compared with RDKit: from all items, from some ids, and from the result of a query."""

from typing import Any

import httpx
import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

URL = "/v1/collections/nci"
FILTERS = [{"property": "molwt", "min": 120, "max": 220}]


@pytest.fixture(scope="module")
def similarity(client: httpx.Client) -> np.ndarray:
    """Return similarities of all molecules, of shape (N, N)."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"])) for item in items]
    return np.array([DataStructs.BulkTanimotoSimilarity(each, prints) for each in prints])


def pick(client: httpx.Client, **body: Any) -> dict[str, Any]:
    reply = client.post(f"{URL}/pick", json=body)
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()
    return result


@pytest.mark.parametrize("source", ["everything", "ids", "query"])
def test_maxmin_picks_the_least_similar_next(client: httpx.Client, similarity: np.ndarray, source: str) -> None:
    passing = client.post(f"{URL}/items/query", json={"filters": FILTERS, "limit": 1000}).json()["items"]
    sources: dict[str, tuple[list[int], dict[str, Any]]] = {
        "everything": ([*range(len(similarity))], {}),
        "ids": ([*range(7, 300, 3)], {"from": {"ids": [*reversed(range(7, 300, 3)), 7, 10]}}),
        "query": ([item["id"] for item in passing], {"from": {"filters": FILTERS}}),
    }
    candidates, body = sources[source]
    assert len(candidates) > 40
    result = pick(client, count=25, **body)
    ids = result["ids"]
    assert (len(ids), result["size"]) == (25, len(candidates))
    assert set(ids) <= set(candidates)
    assert result["nearest"][0] == 0
    for number in range(1, len(ids)):
        nearest = similarity[np.ix_(ids[:number], candidates)].max(axis=0)
        rest = [nearest[place] for place, id in enumerate(candidates) if id not in ids[:number]]
        assert result["nearest"][number] == pytest.approx(nearest[candidates.index(ids[number])], rel=1e-6)
        assert nearest[candidates.index(ids[number])] == min(rest)
    assert pick(client, count=9, **body)["ids"] == ids[:9]
    # The order of the ids does not matter.
    assert pick(client, count=25, **{"from": {"ids": candidates}})["ids"] == ids


def test_sphere_picks_are_apart_and_cover_all(client: httpx.Client, similarity: np.ndarray) -> None:
    candidates = [*range(0, 400, 2)]
    ids = pick(client, count=200, method="sphere", threshold=0.3, **{"from": {"ids": candidates}})["ids"]
    picked_similarity = similarity[np.ix_(ids, ids)]
    assert 20 < len(ids) < 200
    assert picked_similarity[~np.eye(len(ids), dtype=bool)].max() < 0.3
    assert (similarity[np.ix_(ids, candidates)].max(axis=0) >= 0.3).all()


@pytest.mark.parametrize(
    ("body", "status", "expected_text"),
    [
        ({"count": 401}, 422, "1 to 400"),
        ({"count": 0}, 422, "count"),
        ({"count": 10_001}, 422, "10000"),
        ({"count": 3, "from": {"ids": [1, 2]}}, 422, "1 to 2"),
        ({"count": 1, "from": {"filters": [{"property": "molwt", "min": 1e6}]}}, 422, "1 to 0"),
        ({"count": 1, "from": {"filters": [{"property": "weight", "min": 1}]}}, 422, "molwt"),
        ({"count": 1, "from": {"limit": 3}}, 422, "limit"),
        ({"count": 1, "from": {"ids": []}}, 422, "1 to 0"),
        ({"count": 1, "from": {"ids": [400]}}, 404, "0 to 399"),
        ({"count": 1, "method": "random"}, 422, "maxmin"),
        ({"count": 1, "method": "sphere", "threshold": 0}, 422, "threshold"),
        ({}, 422, "count"),
    ],
)
def test_error_names_the_invalid_parameter(
    client: httpx.Client, body: dict[str, Any], status: int, expected_text: str
) -> None:
    reply = client.post(f"{URL}/pick", json=body)
    assert reply.status_code == status, reply.text
    assert expected_text in reply.text
