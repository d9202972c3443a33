"""The access log, read by another package than the one that writes it."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import httpx
import polars as pl
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.protocol.errors import InvalidInput
from tests.until import until

URL = "/v1/collections/nci"


def lines_of(file: Path, count: int) -> list[str]:
    """Return the lines of the file once there are `count`. A line is written a moment after its reply."""
    until(lambda: file.exists() and file.read_text().count("\n") >= count)
    return file.read_text().splitlines()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "access.jsonl"


@pytest.fixture
def logged_client(store_folder: Path, tmp_path: Path, file: Path) -> Iterator[httpx.Client]:
    """Yield a client of a server that logs to `file`."""
    settings = Settings(store=store_folder, cache_dir=tmp_path / "cache", port=0, access_log=file)
    with Server(settings).running() as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


def test_every_request_leaves_a_line(logged_client: httpx.Client, file: Path) -> None:
    plain = {"Accept-Encoding": "identity"}
    replies = [
        logged_client.get(f"{URL}/items/5", headers=plain),
        logged_client.head(f"{URL}/items/5"),
        logged_client.get(f"{URL}/items?limit=100", headers={"Accept-Encoding": "zstd"}),
        logged_client.post(f"{URL}/search", json={"smiles": "CCO"}, headers=plain),
        logged_client.get(f"{URL}/export?what=items&format=csv", headers=plain),
        logged_client.get("/v1/collections/nowhere/items/5"),
        logged_client.get("/made/up"),
        logged_client.get(f"{URL}/items/5", headers={"Host": "example.org"}),
    ]
    lines_of(file, len(replies))
    lines = pl.read_ndjson(file)
    route = "/v1/collections/{c}"
    assert lines.select("method", "route", "status", "collection").rows() == [
        ("GET", f"{route}/items/{{id}}", 200, "nci"),
        ("HEAD", f"{route}/items/{{id}}", 200, "nci"),
        ("GET", f"{route}/items", 200, "nci"),
        ("POST", f"{route}/search", 200, "nci"),
        ("GET", f"{route}/export", 200, "nci"),
        ("GET", f"{route}/items/{{id}}", 404, "nowhere"),
        ("GET", "none", 404, None),
        ("GET", "none", 400, None),
    ]
    assert lines["id"].to_list() == [reply.headers["X-Request-ID"] for reply in replies]
    assert lines["id"].n_unique() == len(replies)
    assert lines["bytes"].to_list() == [reply.num_bytes_downloaded for reply in replies]
    assert all(0 < seconds < 60 for seconds in lines["seconds"])
    times = [datetime.fromisoformat(text) for text in lines["time"]]
    assert times == sorted(times)
    assert all(time.tzinfo is not None for time in times)


@pytest.mark.parametrize("id", ["of-a-proxy.1", "f" * 128, "550e8400-e29b-41d4-a716-446655440000"])
def test_request_id_of_the_client_is_kept(client: httpx.Client, id: str) -> None:
    for url in (f"{URL}/items/5", f"{URL}/items/100000", "/nowhere"):
        assert client.get(url, headers={"X-Request-ID": id}).headers.get_list("X-Request-ID") == [id]


@pytest.mark.parametrize("id", ["", "f" * 129, 'a"b', "a b", "a;b"])
def test_invalid_request_id_is_replaced(client: httpx.Client, id: str) -> None:
    request_id = client.get(f"{URL}/items/5", headers={"X-Request-ID": id}).headers["X-Request-ID"]
    assert re.fullmatch("[0-9a-f]{32}", request_id)


def test_no_structure_and_no_secret_is_logged(logged_client: httpx.Client, file: Path) -> None:
    logged_client.get(f"{URL}/structure", params={"smiles": "CCCCCCBr"})
    logged_client.post(f"{URL}/search", json={"smiles": "CCCCCCBr"}, headers={"Authorization": "Bearer hush"})
    logged_client.get(f"/v1/collections/%0a%22{'x' * 5000}/items/5")
    lines = lines_of(file, 3)
    assert not [line for line in lines if "Br" in line or "hush" in line]
    assert [len(json.loads(line)["collection"]) for line in lines] == [3, 3, 100]


def test_rotated_log_file_is_created_again(logged_client: httpx.Client, file: Path) -> None:
    logged_client.get("/livez")
    (first,) = lines_of(file, 1)
    file.rename(file.with_suffix(".1"))
    logged_client.get("/readyz")
    (second,) = lines_of(file, 1)
    assert (json.loads(first)["route"], json.loads(second)["route"]) == ("/livez", "/readyz")


def test_unwritable_log_file_is_refused(store_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="access log") as refused:
        Server(Settings(store=store_folder, cache_dir=tmp_path, port=0, access_log=tmp_path / "nowhere" / "log"))
    assert refused.value.given == str(tmp_path / "nowhere" / "log")
