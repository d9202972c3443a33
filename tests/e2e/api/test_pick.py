"""POST pick beside RDKit, from everything, from some ids and from what a query leaves."""

from typing import Any

import httpx
import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

URL = "/v1/collections/nci"
FILTERS = [{"property": "molwt", "min": 120, "max": 220}]


@pytest.fixture(scope="module")
def similar(client: httpx.Client) -> np.ndarray:
    """(N, N) of all molecules."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"])) for item in items]
    return np.array([DataStructs.BulkTanimotoSimilarity(each, prints) for each in prints])


def picked(client: httpx.Client, **body: Any) -> dict[str, Any]:
    reply = client.post(f"{URL}/pick", json=body)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


@pytest.mark.parametrize("source", ["everything", "ids", "query"])
def test_each_is_the_least_similar_to_those_before(client: httpx.Client, similar: np.ndarray, source: str) -> None:
    passing = client.post(f"{URL}/items/query", json={"filters": FILTERS, "limit": 1000}).json()["items"]
    sources: dict[str, tuple[list[int], dict[str, Any]]] = {
        "everything": ([*range(len(similar))], {}),
        "ids": ([*range(7, 300, 3)], {"from": {"ids": [*reversed(range(7, 300, 3)), 7, 10]}}),
        "query": ([item["id"] for item in passing], {"from": {"filters": FILTERS}}),
    }
    of, body = sources[source]
    assert len(of) > 40
    found = picked(client, count=25, **body)
    ids = found["ids"]
    assert (len(ids), found["size"]) == (25, len(of))
    assert set(ids) <= set(of)
    assert found["nearest"][0] == 0
    for number in range(1, len(ids)):
        nearest = similar[np.ix_(ids[:number], of)].max(axis=0)
        rest = [nearest[place] for place, id in enumerate(of) if id not in ids[:number]]
        assert found["nearest"][number] == pytest.approx(nearest[of.index(ids[number])], rel=1e-6)
        assert nearest[of.index(ids[number])] == min(rest)
    assert picked(client, count=9, **body)["ids"] == ids[:9]
    assert picked(client, count=25, **{"from": {"ids": of}})["ids"] == ids  # whichever way they are named


def test_no_two_are_near_and_all_others_are_near_one(client: httpx.Client, similar: np.ndarray) -> None:
    of = [*range(0, 400, 2)]
    ids = picked(client, count=200, method="sphere", threshold=0.3, **{"from": {"ids": of}})["ids"]
    among = similar[np.ix_(ids, ids)]
    assert 20 < len(ids) < 200
    assert among[~np.eye(len(ids), dtype=bool)].max() < 0.3
    assert (similar[np.ix_(ids, of)].max(axis=0) >= 0.3).all()


@pytest.mark.parametrize(
    ("body", "status", "named"),
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
def test_what_cannot_be_picked_is_named(client: httpx.Client, body: dict[str, Any], status: int, named: str) -> None:
    reply = client.post(f"{URL}/pick", json=body)
    assert reply.status_code == status, reply.text
    assert named in reply.text
