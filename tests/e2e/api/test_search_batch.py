"""Many structures at once: each is answered as a single search answers it, or says why it cannot be."""

import json
import threading
import time
from typing import Any

import httpx
import pyarrow as pa
import pytest
from rdkit import Chem

from tests.e2e.api.test_bad_input import require_problem
from tests.fused import fused

URL = "/v1/collections/nci"
ARROW = "application/vnd.apache.arrow.stream"
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
READABLE: list[Any] = [
    ASPIRIN,
    {"smiles": "OC(=O)c1ccccc1"},
    {"inchi": "InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3"},
    {"molblock": Chem.MolToMolBlock(Chem.MolFromSmiles("c1ccccc1O"))},
    {"structure": "[U]"},
]


def rows_of(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


@pytest.mark.parametrize("told", [{}, {"limit": 100}, {"min_similarity": 0.2, "limit": 3}, {"min_similarity": 1.0}])
def test_rows_are_those_of_single_searches(client: httpx.Client, told: dict[str, Any]) -> None:
    rows = rows_of(client.post(f"{URL}/search/batch", json={"structures": READABLE, **told}))
    assert [row["index"] for row in rows] == [*range(len(READABLE))]
    for structure, row in zip(READABLE, rows, strict=True):
        written = {"structure": structure} if isinstance(structure, str) else structure
        alone = client.post(f"{URL}/search", json={**written, **told}).json()
        hits = [{"id": hit["item"]["id"], "similarity": hit["similarity"]} for hit in alone["hits"]]
        assert row == {"index": row["index"], "id": alone["query"]["id"], "error": None, "hits": hits}


def test_arrow_has_the_same_rows(client: httpx.Client) -> None:
    body = {"structures": [*READABLE, "C1CC"]}
    reply = client.post(f"{URL}/search/batch", json=body, headers={"Accept": ARROW})
    table = pa.ipc.open_stream(reply.content).read_all()
    hits = pa.list_(pa.struct([("id", pa.int32()), ("similarity", pa.float32())]))
    types = {"index": pa.int32(), "id": pa.int32(), "error": pa.string(), "hits": hits}
    assert dict(zip(table.schema.names, table.schema.types, strict=True)) == types
    assert table.schema.metadata[b"generation"].decode() == reply.headers["graphkin-generation"]
    lines = rows_of(client.post(f"{URL}/search/batch", json=body))
    as_float32 = pa.Table.from_pylist(lines, schema=table.schema)
    assert table.equals(as_float32)


def test_what_cannot_be_read_is_a_row_and_costs_no_other(client: httpx.Client) -> None:
    structures = ["CCO", "C1CC", {"name": "no such name"}, {"smiles": "C" * 10_001}, {"graph": {"edges": []}}, "CCO"]
    first, *wrong, last = rows_of(client.post(f"{URL}/search/batch", json={"structures": structures}))
    assert first["hits"]
    assert last == {**first, "index": 5}
    for row, said in zip(wrong, ("unclosed ring", "no such item", "more than 10000", "have no such"), strict=True):
        assert said in row["error"]
        assert "\n" not in row["error"]
        assert (row["id"], row["hits"]) == (None, [])


def test_nothing_may_be_readable(client: httpx.Client) -> None:
    rows = rows_of(client.post(f"{URL}/search/batch", json={"structures": [{"name": ""}, "C1CC"]}))
    assert [row["hits"] for row in rows] == [[], []]
    assert all(row["error"] for row in rows)


def test_a_name_is_its_item(client: httpx.Client) -> None:
    item = client.get(f"{URL}/items/42").json()
    body = {"structures": [{"name": item["names"][0]}, item["smiles"]]}
    named, written = rows_of(client.post(f"{URL}/search/batch", json=body))
    assert named["id"] == 42
    assert {**named, "index": 1} == written


def test_graphs_and_nodes_are_asked_for_as_they_are_written(client: httpx.Client) -> None:
    triangle = {"edges": [[0, 1], [1, 2], [2, 0]]}
    for collection, graph in (("social", triangle), ("karate", {**triangle, "centre": 1})):
        url = f"/v1/collections/{collection}"
        alone = client.post(f"{url}/search", json={"graph": graph}).json()
        written = rows_of(
            client.post(f"{url}/search/batch", json={"structures": [{"graph": graph}, json.dumps(graph)]})
        )
        assert [row["id"] for row in written] == [alone["query"]["id"]] * 2
        for row in written:
            assert [hit["id"] for hit in row["hits"]] == [hit["item"]["id"] for hit in alone["hits"]]
        (refused,) = rows_of(client.post(f"{url}/search/batch", json={"structures": [{"smiles": "C"}]}))
        assert "have no such structures" in refused["error"]


def test_what_takes_too_long_to_read_is_a_row(client: httpx.Client) -> None:
    """And who searches for one structure meanwhile is answered."""
    replies: list[httpx.Response] = []
    body = {"structures": ["CCO", fused(998), "CCO"]}
    asking = threading.Thread(target=lambda: replies.append(client.post(f"{URL}/search/batch", json=body)))
    asking.start()
    answered = 0
    while asking.is_alive():
        begin = time.monotonic()
        assert client.post(f"{URL}/search", json={"smiles": ASPIRIN}).status_code == 200
        assert time.monotonic() - begin < 5
        answered += 1
        asking.join(0.05)
    assert answered > 1
    first, slow, last = rows_of(replies[0])
    assert "cannot be read: reading it takes " in slow["error"]
    assert first["hits"] == last["hits"] != []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"structures": []},
        {"structures": ["C"] * 10_001},
        {"structures": "C"},
        {"structures": [7]},
        {"structures": [{}]},
        {"structures": [{"smiles": "C", "name": "1"}]},
        {"structures": [{"smiles": "C", "limit": 3}]},
        {"structures": ["C"], "limit": 0},
        {"structures": ["C"], "limit": 101},
        {"structures": ["C"], "min_similarity": 0},
        {"structures": ["C"], "min_similarity": 1.1},
        {"structures": ["C"], "measure": {"name": "counts"}},
    ],
)
def test_what_is_refused(client: httpx.Client, body: dict[str, Any]) -> None:
    require_problem(client.post(f"{URL}/search/batch", json=body), 422)


def test_ten_thousand_are_answered(client: httpx.Client) -> None:
    structures = [f"C{'C' * (number % 7)}" for number in range(10_000)]
    rows = rows_of(client.post(f"{URL}/search/batch", json={"structures": structures, "limit": 1}, timeout=120))
    assert [row["index"] for row in rows] == [*range(10_000)]
    assert [row["hits"] for row in rows[7:]] == [row["hits"] for row in rows[:-7]]
