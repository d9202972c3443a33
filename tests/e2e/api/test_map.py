"""GET map beside exports and clusters."""

import io
import json
import time
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

URL = "/v1/collections/nci"


def asked(client: httpx.Client, accept: str = "application/vnd.apache.arrow.stream", **query: Any) -> httpx.Response:
    while (reply := client.get(f"{URL}/map", params=query, headers={"Accept": accept})).status_code == 503:
        time.sleep(int(reply.headers["Retry-After"]) / 10)
    return reply


def table(client: httpx.Client, **query: Any) -> pd.DataFrame:
    reply = asked(client, **query)
    assert reply.status_code == 200, reply.text
    return pa.ipc.open_stream(reply.content).read_all().to_pandas()


def exported(client: httpx.Client, what: str) -> pd.DataFrame:
    reply = client.get(f"{URL}/export", params={"what": what, "format": "parquet"})
    return pd.read_parquet(io.BytesIO(reply.content))


def test_every_item_has_a_place_near_its_neighbours(client: httpx.Client) -> None:
    found = table(client)
    assert found["id"].tolist() == [*range(400)]
    assert found[["x", "y"]].to_numpy().min() == 0
    assert found[["x", "y"]].to_numpy().max() == 1
    assert found["value"].isna().all()
    assert found["cluster"].isna().all()
    edges = exported(client, "edges").nlargest(50, "similarity")
    at = found[["x", "y"]].to_numpy()
    apart = np.linalg.norm(at[edges["source"]] - at[edges["target"]], axis=1)
    everywhere = np.linalg.norm(at[:, None] - at[None], axis=2)
    assert np.median(apart) < np.median(everywhere) / 5


def test_it_has_what_to_colour_by(client: httpx.Client) -> None:
    items = exported(client, "items")
    found = table(client, property="molwt", method="butina", threshold=0.3)
    assert found["value"].tolist() == items["molwt"].tolist()
    first = client.get(f"{URL}/clusters/1", params={"threshold": 0.3, "limit": 1000}).json()["items"]
    assert found["id"][found["cluster"] == 1].tolist() == sorted(item["id"] for item in first)


def test_json_lines_say_the_same(client: httpx.Client) -> None:
    query = {"property": "molwt", "method": "scaffold"}
    columns = table(client, **query)
    lines = asked(client, "application/x-ndjson", **query).text.splitlines()
    rows = pd.DataFrame(map(json.loads, lines))
    for name in ("x", "y"):
        assert rows[name].astype(np.float32).tolist() == columns[name].tolist()
    for name in ("id", "value", "cluster"):
        assert rows[name].tolist() == columns[name].tolist()


@pytest.mark.parametrize(
    ("query", "status", "named"),
    [
        ({"property": "weight"}, 422, "molwt"),
        ({"threshold": 0.5}, 422, "butina or single"),
        ({"method": "scaffold", "threshold": 0.5}, 422, "butina or single"),
        ({"method": "kmeans"}, 422, "butina"),
    ],
)
def test_what_is_wrong_is_named(client: httpx.Client, query: dict[str, Any], status: int, named: str) -> None:
    reply = asked(client, **query)
    assert reply.status_code == status, reply.text
    assert named in reply.text
