import io
import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest

from graphkin.protocol.policy import Policy

URL = "/v1/collections/nci"
ARROW = {"Accept": "application/vnd.apache.arrow.stream"}

SAMPLES: list[dict[str, Any]] = [
    {"policy": "first_order", "seed": 7},
    {"policy": "first_order", "k": 1, "pad": "self", "epoch": 3},
    {"policy": "random_walk", "seed": 2**53 - 1},
    {"policy": "random_walk", "k": 64, "length": 4, "walks": 9, "rank": "top", "p": 0.5, "q": 2, "p_end": 0.2},
    {"policy": "random_walk", "length": 8, "restart": 0.4},
    {"policy": "second_order", "k": 7, "seed": 1, "epoch": 1},
]
samples = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: "-".join(map(str, sample.values())))


@pytest.fixture(scope="module")
def size(client: httpx.Client) -> int:
    return client.get(URL).json()["manifest"]["counts"]["kept"]


def parse_rows(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


def parse_table(reply: httpx.Response) -> pa.Table:
    assert reply.status_code == 200, reply.text
    return pa.ipc.open_stream(io.BytesIO(reply.content)).read_all()


def batch(client: httpx.Client, ids: list[int], sample: dict[str, Any], **headers: str) -> httpx.Response:
    return client.post(f"{URL}/positives/batch", json={"ids": ids, **sample}, headers=headers)


def epoch(
    client: httpx.Client, sample: dict[str, Any], headers: dict[str, str] | None = None, **more: Any
) -> httpx.Response:
    """Return the reply once the epoch is built. Until then, replies must have Retry-After."""
    query = {name: value for name, value in {**sample, **more}.items() if name != "epoch"}
    for _ in range(1000):
        reply = client.get(f"{URL}/positives/epochs/{sample.get('epoch', 0)}", params=query, headers=headers)
        if reply.status_code != 503:
            return reply
        assert int(reply.headers["Retry-After"]) > 0
        assert reply.headers["content-type"] == "application/problem+json"
    raise AssertionError("the positive sets never came")


@samples
def test_item_batch_and_epoch_agree(client: httpx.Client, size: int, sample: dict[str, Any]) -> None:
    ids = list(range(size))
    batch_rows = parse_rows(batch(client, ids, sample))
    epoch_rows = parse_rows(epoch(client, sample))
    assert epoch_rows == [*batch_rows, {"complete": True, "rows": size}]
    for row in batch_rows[::23]:
        single = client.get(f"{URL}/items/{row['anchor']}/positives", params=sample).json()
        ids_of_item = [positive["item"]["id"] for positive in single["positives"]]
        assert ids_of_item == row["positives"][: row["count"]]
        assert single["isolated"] == row["isolated"] == (not ids_of_item)
        visits = [positive["visits"] for positive in single["positives"]]
        assert visits == (
            row["visits"][: row["count"]] if sample["policy"] == "random_walk" else [None] * len(ids_of_item)
        )


@samples
def test_arrow_equals_json_lines(client: httpx.Client, size: int, sample: dict[str, Any]) -> None:
    ids = list(range(0, size, 3))
    assert parse_table(batch(client, ids, sample, **ARROW)).to_pylist() == parse_rows(batch(client, ids, sample))
    *rows, end = parse_rows(epoch(client, sample))
    assert parse_table(epoch(client, sample, ARROW)).to_pylist() == rows
    assert end == {"complete": True, "rows": size}


@samples
def test_arrow_has_schema_and_provenance(client: httpx.Client, sample: dict[str, Any]) -> None:
    generation = client.get(URL).json()["generation"]
    parameters = {name: value for name, value in sample.items() if name not in ("policy", "seed", "epoch")}
    policy = Policy.from_name(sample["policy"], **parameters)
    for reply in (batch(client, [3, 1, 3], sample, **ARROW), epoch(client, sample, ARROW, stop=2)):
        schema = parse_table(reply).schema
        assert {field.name: str(field.type).replace("element", "item") for field in schema} == {
            "anchor": "int32",
            "count": "uint16",
            "isolated": "bool",
            "positives": f"fixed_size_list<item: int32>[{policy.k}]",
            "visits": f"fixed_size_list<item: uint16>[{policy.k}]",
        }
        assert schema.metadata[b"generation"].decode() == generation == reply.headers["Graphkin-Generation"]
        assert Policy.model_validate_json(schema.metadata[b"policy"]) == policy
        assert int(schema.metadata[b"seed"]) == sample.get("seed", 0)
        assert int(schema.metadata[b"epoch"]) == sample.get("epoch", 0)


def test_batch_keeps_the_order_and_is_reproducible(client: httpx.Client, size: int) -> None:
    ids = np.random.default_rng(0).integers(0, size, 1500).tolist()
    rows = parse_rows(batch(client, ids, SAMPLES[0]))
    assert [row["anchor"] for row in rows] == ids
    by_anchor = {row["anchor"]: row for row in rows}
    assert rows == [by_anchor[id] for id in ids]
    assert rows == [row for part in (ids[:7], ids[7:]) for row in parse_rows(batch(client, part, SAMPLES[0]))]


def test_positives_have_paths_and_similarities(client: httpx.Client, size: int) -> None:
    policy: dict[str, str | int] = {"policy": "random_walk", "k": 8, "length": 3, "seed": 5}
    for id in range(0, size, 11):
        reply = client.get(f"{URL}/items/{id}/positives", params=policy).json()
        near = client.get(f"{URL}/items/{id}/neighbors", params={"limit": 1000}).json()["neighbors"]
        similarity = {each["item"]["id"]: each["similarity"] for each in near}
        assert reply["isolated"] == (not similarity)
        for positive in reply["positives"]:
            other = positive["item"]["id"]
            assert positive["direct"] == (other in similarity)
            assert positive["similarity"] == similarity.get(other)
            assert (positive["path"][0], positive["path"][-1]) == (id, other)
            assert len(positive["path"]) <= 4
            assert positive["visits"] >= 1


@pytest.mark.parametrize(("policy", "k"), [("first_order", 3), ("second_order", 3), ("random_walk", 5)])
def test_reply_has_every_parameter(client: httpx.Client, policy: str, k: int) -> None:
    reply = client.get(f"{URL}/items/5/positives", params={"policy": policy}).json()
    assert (reply["anchor"], reply["seed"], reply["epoch"]) == (5, 0, 0)
    assert reply["policy"] == {
        "name": policy,
        "k": k,
        "length": 2,
        "walks": 5,
        "p": 1.0,
        "q": 1.0,
        "p_end": 0.0,
        "restart": 0.0,
        "rank": "exp",
        "pad": "resample",
    }


def isolated_ids(client: httpx.Client, size: int) -> Iterator[int]:
    for id in range(size):
        if client.get(f"{URL}/items/{id}").json()["degree"] == 0:
            yield id


def test_isolated_anchor_has_an_empty_set(client: httpx.Client, size: int) -> None:
    id = next(isolated_ids(client, size))
    (row,) = parse_rows(batch(client, [id], {"policy": "random_walk", "k": 3}))
    assert row == {"anchor": id, "count": 0, "isolated": True, "positives": [-1] * 3, "visits": [0] * 3}
    reply = client.get(f"{URL}/items/{id}/positives", params={"policy": "first_order"}).json()
    assert (reply["isolated"], reply["positives"]) == (True, [])


def test_epoch_is_read_in_ranges(client: httpx.Client, size: int) -> None:
    *epoch_rows, _ = parse_rows(epoch(client, SAMPLES[0]))
    for start, stop in ((0, 10), (10, size), (17, 17), (size, size)):
        *rows, end = parse_rows(epoch(client, SAMPLES[0], start=start, stop=stop))
        assert rows == epoch_rows[start:stop]
        assert end == {"complete": True, "rows": stop - start}
        assert (
            parse_table(epoch(client, SAMPLES[0], ARROW, start=start, stop=stop)).to_pylist() == epoch_rows[start:stop]
        )
    assert parse_rows(epoch(client, SAMPLES[0], start=5))[:-1] == epoch_rows[5:]


@pytest.mark.parametrize("bounds", [{"start": 10**6}, {"stop": 10**6}, {"start": 5, "stop": 4}])
def test_range_outside_the_anchors_is_refused(client: httpx.Client, bounds: dict[str, int]) -> None:
    reply = client.get(f"{URL}/positives/epochs/0", params={"policy": "first_order", **bounds})
    assert reply.status_code == 422
    assert "start <= stop" in reply.json()["expected"]


def test_arrow_epoch_ends_with_the_end_of_stream_marker(client: httpx.Client) -> None:
    content = epoch(client, SAMPLES[0], ARROW).content
    assert content.endswith(b"\xff\xff\xff\xff\x00\x00\x00\x00")
