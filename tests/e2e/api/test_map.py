"""GET map agrees with exports and clusters."""

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


def fetch_map(
    client: httpx.Client, accept: str = "application/vnd.apache.arrow.stream", **query: Any
) -> httpx.Response:
    while (reply := client.get(f"{URL}/map", params=query, headers={"Accept": accept})).status_code == 503:
        time.sleep(int(reply.headers["Retry-After"]) / 10)
    return reply


def table(client: httpx.Client, **query: Any) -> pd.DataFrame:
    reply = fetch_map(client, **query)
    assert reply.status_code == 200, reply.text
    return pa.ipc.open_stream(reply.content).read_all().to_pandas()


def export_table(client: httpx.Client, what: str) -> pd.DataFrame:
    reply = client.get(f"{URL}/export", params={"what": what, "format": "parquet"})
    return pd.read_parquet(io.BytesIO(reply.content))


def test_map_places_similar_items_close_together(client: httpx.Client) -> None:
    points = table(client)
    assert points["id"].tolist() == [*range(400)]
    assert points[["x", "y"]].to_numpy().min() == 0
    assert points[["x", "y"]].to_numpy().max() == 1
    assert points["value"].isna().all()
    assert points["cluster"].isna().all()
    edges = export_table(client, "edges").nlargest(50, "similarity")
    positions = points[["x", "y"]].to_numpy()
    distances = np.linalg.norm(positions[edges["source"]] - positions[edges["target"]], axis=1)
    everywhere = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    assert np.median(distances) < np.median(everywhere) / 5


def test_map_has_property_values_and_clusters(client: httpx.Client) -> None:
    items = export_table(client, "items")
    points = table(client, property="molwt", method="butina", threshold=0.3)
    assert points["value"].tolist() == items["molwt"].tolist()
    first = client.get(f"{URL}/clusters/1", params={"threshold": 0.3, "limit": 1000}).json()["items"]
    assert points["id"][points["cluster"] == 1].tolist() == sorted(item["id"] for item in first)


def test_json_lines_equal_arrow(client: httpx.Client) -> None:
    query = {"property": "molwt", "method": "scaffold"}
    columns = table(client, **query)
    lines = fetch_map(client, "application/x-ndjson", **query).text.splitlines()
    rows = pd.DataFrame(map(json.loads, lines))
    for name in ("x", "y"):
        assert rows[name].astype(np.float32).tolist() == columns[name].tolist()
    for name in ("id", "value", "cluster"):
        assert rows[name].tolist() == columns[name].tolist()


@pytest.mark.parametrize(
    ("query", "status", "expected_text"),
    [
        ({"property": "weight"}, 422, "molwt"),
        ({"threshold": 0.5}, 422, "butina or single"),
        ({"method": "scaffold", "threshold": 0.5}, 422, "butina or single"),
        ({"method": "kmeans"}, 422, "butina"),
    ],
)
def test_error_names_the_invalid_parameter(
    client: httpx.Client, query: dict[str, Any], status: int, expected_text: str
) -> None:
    reply = fetch_map(client, **query)
    assert reply.status_code == status, reply.text
    assert expected_text in reply.text
