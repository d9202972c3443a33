import io
import json

import httpx
import pyarrow as pa
import pytest

URL = "/v1/collections/nci"
ARROW = {"Accept": "application/vnd.apache.arrow.stream"}


def test_batches_are_distinct_connected_and_replayable(client: httpx.Client) -> None:
    query = {"seed": 3, "epoch": 1, "first": 7, "batches": 4, "count": 100}
    rows = [json.loads(line) for line in client.get(f"{URL}/negatives", params=query).text.splitlines()]
    assert [row["batch"] for row in rows] == [7, 8, 9, 10]
    degrees = [item["degree"] for item in client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]]
    for row in rows:
        assert len(set(row["ids"])) == 100
        assert all(degrees[id] for id in row["ids"])
    alone = client.get(f"{URL}/negatives", params={**query, "first": 9, "batches": 1}).text
    assert json.loads(alone) == rows[2]


def test_arrow_has_schema_and_provenance(client: httpx.Client) -> None:
    query = {"seed": 3, "epoch": 1, "batches": 2, "count": 5}
    reply = client.get(f"{URL}/negatives", params=query, headers=ARROW)
    table = pa.ipc.open_stream(io.BytesIO(reply.content)).read_all()
    lines = client.get(f"{URL}/negatives", params=query).text.splitlines()
    assert table.to_pylist() == [json.loads(line) for line in lines]
    assert table.schema.field("batch").type == pa.int32()
    assert table.schema.field("ids").type == pa.list_(pa.int32(), 5)
    provenance = {name.decode(): value.decode() for name, value in table.schema.metadata.items()}
    assert provenance == {"generation": reply.headers["Graphkin-Generation"], "seed": "3", "epoch": "1"}


def test_large_reply_equals_single_batches(client: httpx.Client) -> None:
    """The reply has more than one block of ids."""
    query = {"count": 250, "batches": 5000}
    reply = client.get(f"{URL}/negatives", params=query, headers=ARROW)
    table = pa.ipc.open_stream(io.BytesIO(reply.content)).read_all()
    assert table["batch"].to_pylist() == list(range(5000))
    last = client.get(f"{URL}/negatives", params={"count": 250, "first": 4999}).json()
    assert table.slice(4999).to_pylist() == [last]


def test_default_is_one_batch_of_255(client: httpx.Client) -> None:
    row = client.get(f"{URL}/negatives").json()
    assert (row["batch"], len(row["ids"])) == (0, 255)


@pytest.mark.parametrize(
    ("query", "expected_text"),
    [
        ({"count": 400}, "at most"),
        ({"count": 4096, "batches": 4097}, "16777216"),
        ({"first": 2**31 - 1, "batches": 2}, "2147483647"),
    ],
)
def test_excessive_counts_are_refused(client: httpx.Client, query: dict[str, int], expected_text: str) -> None:
    reply = client.get(f"{URL}/negatives", params=query)
    assert reply.status_code == 422
    assert expected_text in reply.json()["expected"]
