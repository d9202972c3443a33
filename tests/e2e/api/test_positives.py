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

DRAWS: list[dict[str, Any]] = [
    {"policy": "first_order", "seed": 7},
    {"policy": "first_order", "k": 1, "pad": "self", "epoch": 3},
    {"policy": "random_walk", "seed": 2**53 - 1},
    {"policy": "random_walk", "k": 64, "length": 4, "walks": 9, "rank": "top", "p": 0.5, "q": 2, "p_end": 0.2},
    {"policy": "random_walk", "length": 8, "restart": 0.4},
    {"policy": "second_order", "k": 7, "seed": 1, "epoch": 1},
]
draws = pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: "-".join(map(str, draw.values())))


@pytest.fixture(scope="module")
def size(client: httpx.Client) -> int:
    return client.get(URL).json()["manifest"]["counts"]["kept"]


def rows_of(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


def table_of(reply: httpx.Response) -> pa.Table:
    assert reply.status_code == 200, reply.text
    return pa.ipc.open_stream(io.BytesIO(reply.content)).read_all()


def batch(client: httpx.Client, ids: list[int], draw: dict[str, Any], **headers: str) -> httpx.Response:
    return client.post(f"{URL}/positives/batch", json={"ids": ids, **draw}, headers=headers)


def epoch(
    client: httpx.Client, draw: dict[str, Any], headers: dict[str, str] | None = None, **more: Any
) -> httpx.Response:
    """The reply once it is there; until then it must say when to come back."""
    query = {name: value for name, value in {**draw, **more}.items() if name != "epoch"}
    for _ in range(1000):
        reply = client.get(f"{URL}/positives/epochs/{draw.get('epoch', 0)}", params=query, headers=headers)
        if reply.status_code != 503:
            return reply
        assert int(reply.headers["Retry-After"]) > 0
        assert reply.headers["content-type"] == "application/problem+json"
    raise AssertionError("the positive sets never came")


@draws
def test_single_batch_and_epoch_agree(client: httpx.Client, size: int, draw: dict[str, Any]) -> None:
    ids = list(range(size))
    together = rows_of(batch(client, ids, draw))
    whole = rows_of(epoch(client, draw))
    assert whole == [*together, {"complete": True, "rows": size}]
    for row in together[::23]:
        single = client.get(f"{URL}/items/{row['anchor']}/positives", params=draw).json()
        drawn = [positive["item"]["id"] for positive in single["positives"]]
        assert drawn == row["positives"][: row["count"]]
        assert single["isolated"] == row["isolated"] == (not drawn)
        visits = [positive["visits"] for positive in single["positives"]]
        assert visits == (row["visits"][: row["count"]] if draw["policy"] == "random_walk" else [None] * len(drawn))


@draws
def test_arrow_and_json_lines_say_the_same(client: httpx.Client, size: int, draw: dict[str, Any]) -> None:
    ids = list(range(0, size, 3))
    assert table_of(batch(client, ids, draw, **ARROW)).to_pylist() == rows_of(batch(client, ids, draw))
    *rows, end = rows_of(epoch(client, draw))
    assert table_of(epoch(client, draw, ARROW)).to_pylist() == rows
    assert end == {"complete": True, "rows": size}


@draws
def test_arrow_carries_schema_and_provenance(client: httpx.Client, draw: dict[str, Any]) -> None:
    generation = client.get(URL).json()["generation"]
    parameters = {name: value for name, value in draw.items() if name not in ("policy", "seed", "epoch")}
    policy = Policy.from_name(draw["policy"], **parameters)
    for reply in (batch(client, [3, 1, 3], draw, **ARROW), epoch(client, draw, ARROW, stop=2)):
        schema = table_of(reply).schema
        assert {field.name: str(field.type).replace("element", "item") for field in schema} == {
            "anchor": "int32",
            "count": "uint16",
            "isolated": "bool",
            "positives": f"fixed_size_list<item: int32>[{policy.k}]",
            "visits": f"fixed_size_list<item: uint16>[{policy.k}]",
        }
        assert schema.metadata[b"generation"].decode() == generation == reply.headers["Graphkin-Generation"]
        assert Policy.model_validate_json(schema.metadata[b"policy"]) == policy
        assert int(schema.metadata[b"seed"]) == draw.get("seed", 0)
        assert int(schema.metadata[b"epoch"]) == draw.get("epoch", 0)


def test_a_batch_answers_in_the_order_asked_and_every_time_the_same(client: httpx.Client, size: int) -> None:
    ids = np.random.default_rng(0).integers(0, size, 1500).tolist()
    rows = rows_of(batch(client, ids, DRAWS[0]))
    assert [row["anchor"] for row in rows] == ids
    by_anchor = {row["anchor"]: row for row in rows}
    assert rows == [by_anchor[id] for id in ids]
    assert rows == [row for part in (ids[:7], ids[7:]) for row in rows_of(batch(client, part, DRAWS[0]))]


def test_positives_are_explained(client: httpx.Client, size: int) -> None:
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
def test_the_reply_names_every_parameter(client: httpx.Client, policy: str, k: int) -> None:
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


def isolated(client: httpx.Client, size: int) -> Iterator[int]:
    for id in range(size):
        if client.get(f"{URL}/items/{id}").json()["degree"] == 0:
            yield id


def test_an_isolated_anchor_has_an_empty_set(client: httpx.Client, size: int) -> None:
    id = next(isolated(client, size))
    (row,) = rows_of(batch(client, [id], {"policy": "random_walk", "k": 3}))
    assert row == {"anchor": id, "count": 0, "isolated": True, "positives": [-1] * 3, "visits": [0] * 3}
    reply = client.get(f"{URL}/items/{id}/positives", params={"policy": "first_order"}).json()
    assert (reply["isolated"], reply["positives"]) == (True, [])


def test_an_epoch_can_be_read_in_parts(client: httpx.Client, size: int) -> None:
    *whole, _ = rows_of(epoch(client, DRAWS[0]))
    for start, stop in ((0, 10), (10, size), (17, 17), (size, size)):
        *rows, end = rows_of(epoch(client, DRAWS[0], start=start, stop=stop))
        assert rows == whole[start:stop]
        assert end == {"complete": True, "rows": stop - start}
        assert table_of(epoch(client, DRAWS[0], ARROW, start=start, stop=stop)).to_pylist() == whole[start:stop]
    assert rows_of(epoch(client, DRAWS[0], start=5))[:-1] == whole[5:]


@pytest.mark.parametrize("bounds", [{"start": 10**6}, {"stop": 10**6}, {"start": 5, "stop": 4}])
def test_a_range_outside_the_anchors_is_refused(client: httpx.Client, bounds: dict[str, int]) -> None:
    reply = client.get(f"{URL}/positives/epochs/0", params={"policy": "first_order", **bounds})
    assert reply.status_code == 422
    assert "start ≤ stop" in reply.json()["expected"]


def test_an_arrow_epoch_ends_with_its_mark(client: httpx.Client) -> None:
    content = epoch(client, DRAWS[0], ARROW).content
    assert content.endswith(b"\xff\xff\xff\xff\x00\x00\x00\x00")
