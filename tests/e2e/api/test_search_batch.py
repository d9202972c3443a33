"""Batch searches: each row equals a single search, or has an error."""

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
VALID: list[Any] = [
    ASPIRIN,
    {"smiles": "OC(=O)c1ccccc1"},
    {"inchi": "InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3"},
    {"molblock": Chem.MolToMolBlock(Chem.MolFromSmiles("c1ccccc1O"))},
    {"structure": "[U]"},
]


def parse_rows(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


@pytest.mark.parametrize("options", [{}, {"limit": 100}, {"min_similarity": 0.2, "limit": 3}, {"min_similarity": 1.0}])
def test_rows_equal_single_searches(client: httpx.Client, options: dict[str, Any]) -> None:
    rows = parse_rows(client.post(f"{URL}/search/batch", json={"structures": VALID, **options}))
    assert [row["index"] for row in rows] == [*range(len(VALID))]
    for structure, row in zip(VALID, rows, strict=True):
        query = {"structure": structure} if isinstance(structure, str) else structure
        single = client.post(f"{URL}/search", json={**query, **options}).json()
        hits = [{"id": hit["item"]["id"], "similarity": hit["similarity"]} for hit in single["hits"]]
        assert row == {"index": row["index"], "id": single["query"]["id"], "error": None, "hits": hits}


def test_arrow_has_the_same_rows(client: httpx.Client) -> None:
    body = {"structures": [*VALID, "C1CC"]}
    reply = client.post(f"{URL}/search/batch", json=body, headers={"Accept": ARROW})
    table = pa.ipc.open_stream(reply.content).read_all()
    hits = pa.list_(pa.struct([("id", pa.int32()), ("similarity", pa.float32())]))
    types = {"index": pa.int32(), "id": pa.int32(), "error": pa.string(), "hits": hits}
    assert dict(zip(table.schema.names, table.schema.types, strict=True)) == types
    assert table.schema.metadata[b"generation"].decode() == reply.headers["graphkin-generation"]
    lines = parse_rows(client.post(f"{URL}/search/batch", json=body))
    as_float32 = pa.Table.from_pylist(lines, schema=table.schema)
    assert table.equals(as_float32)


def test_invalid_structure_gets_an_error_row(client: httpx.Client) -> None:
    structures = ["CCO", "C1CC", {"name": "no such name"}, {"smiles": "C" * 10_001}, {"graph": {"edges": []}}, "CCO"]
    first, *wrong, last = parse_rows(client.post(f"{URL}/search/batch", json={"structures": structures}))
    assert first["hits"]
    assert last == {**first, "index": 5}
    for row, error_text in zip(
        wrong, ("unclosed ring", "no such item", "more than 10000", "no structures in this notation"), strict=True
    ):
        assert error_text in row["error"]
        assert "\n" not in row["error"]
        assert (row["id"], row["hits"]) == (None, [])


def test_batch_of_invalid_structures_succeeds(client: httpx.Client) -> None:
    rows = parse_rows(client.post(f"{URL}/search/batch", json={"structures": [{"name": ""}, "C1CC"]}))
    assert [row["hits"] for row in rows] == [[], []]
    assert all(row["error"] for row in rows)


def test_structure_by_name_equals_its_smiles(client: httpx.Client) -> None:
    item = client.get(f"{URL}/items/42").json()
    body = {"structures": [{"name": item["names"][0]}, item["smiles"]]}
    row_by_name, row_by_smiles = parse_rows(client.post(f"{URL}/search/batch", json=body))
    assert row_by_name["id"] == 42
    assert {**row_by_name, "index": 1} == row_by_smiles


def test_graphs_and_nodes_are_accepted_as_objects_and_text(client: httpx.Client) -> None:
    triangle = {"edges": [[0, 1], [1, 2], [2, 0]]}
    for collection, graph in (
        ("social", triangle),
        ("karate", {**triangle, "labels": [2] * 3, "weights": [1, 4, 1], "centre": 1}),
    ):
        url = f"/v1/collections/{collection}"
        single = client.post(f"{url}/search", json={"graph": graph}).json()
        rows = parse_rows(
            client.post(f"{url}/search/batch", json={"structures": [{"graph": graph}, json.dumps(graph)]})
        )
        assert [row["id"] for row in rows] == [single["query"]["id"]] * 2
        for row in rows:
            assert [hit["id"] for hit in row["hits"]] == [hit["item"]["id"] for hit in single["hits"]]
        (refused,) = parse_rows(client.post(f"{url}/search/batch", json={"structures": [{"smiles": "C"}]}))
        assert "has no structures in this notation" in refused["error"]


def test_slow_structure_gets_an_error_row(client: httpx.Client) -> None:
    """Single searches are answered meanwhile."""
    replies: list[httpx.Response] = []
    body = {"structures": ["CCO", fused(998), "CCO"]}
    batch_thread = threading.Thread(target=lambda: replies.append(client.post(f"{URL}/search/batch", json=body)))
    batch_thread.start()
    served = 0
    while batch_thread.is_alive():
        begin = time.monotonic()
        assert client.post(f"{URL}/search", json={"smiles": ASPIRIN}).status_code == 200
        assert time.monotonic() - begin < 5
        served += 1
        batch_thread.join(0.05)
    assert served > 1
    first, slow, last = parse_rows(replies[0])
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
def test_invalid_batches_are_refused(client: httpx.Client, body: dict[str, Any]) -> None:
    require_problem(client.post(f"{URL}/search/batch", json=body), 422)


def test_batch_of_ten_thousand(client: httpx.Client) -> None:
    structures = [f"C{'C' * (number % 7)}" for number in range(10_000)]
    rows = parse_rows(client.post(f"{URL}/search/batch", json={"structures": structures, "limit": 1}, timeout=120))
    assert [row["index"] for row in rows] == [*range(10_000)]
    assert [row["hits"] for row in rows[7:]] == [row["hits"] for row in rows[:-7]]
