"""Exports as files at a URL, read completely or in parts by third-party programs."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import httpx
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from tests.modes import open_to_others

URL = "/v1/collections/nci"
ITEMS = f"{URL}/export?what=items&format="
EXPORTS = [
    *(f"{ITEMS}{format}" for format in ("csv", "parquet", "sdf", "arrow")),
    *(f"{URL}/export?what=edges&format={format}" for format in ("csv", "parquet", "graphml", "arrow")),
    f"{ITEMS}csv&columns=names&columns=smiles&start=7&stop=90",
    f"{URL}/export?what=edges&format=csv&min_similarity=0.6",
]
PLAIN = {"Accept-Encoding": "identity"}


def fetch_range(client: httpx.Client, url: str, range: str, **headers: str) -> httpx.Response:
    return client.get(url, headers={**PLAIN, "Range": range, **headers})


@pytest.fixture(scope="module")
def plain(client: httpx.Client) -> Callable[[str], bytes]:
    """Return `plain(export)`, which returns the content of an export without a range request."""
    return lambda export: client.get(export, headers=PLAIN).content


@pytest.mark.parametrize("export", EXPORTS)
def test_ranges_are_slices_of_the_stream(client: httpx.Client, plain: Callable[[str], bytes], export: str) -> None:
    stream = plain(export)
    size = len(stream)
    for range, begin, end in (
        ("0-0", 0, 1),
        ("7-100", 7, 101),
        (f"{size - 5}-", size - 5, size),
        ("-9", size - 9, size),
    ):
        reply = fetch_range(client, export, f"bytes={range}")
        assert (reply.status_code, reply.content) == (206, stream[begin:end])
        assert reply.headers["Content-Range"] == f"bytes {begin}-{end - 1}/{size}"
    head, whole = client.head(export, headers=PLAIN), client.get(export, headers=PLAIN)
    assert whole.content == stream
    for reply in (head, whole):
        assert (reply.status_code, int(reply.headers["Content-Length"])) == (200, size)
        assert reply.headers["Accept-Ranges"] == "bytes"
        assert reply.headers["ETag"] == fetch_range(client, export, "bytes=0-0").headers["ETag"]


def test_several_ranges_return_multipart(client: httpx.Client, plain: Callable[[str], bytes]) -> None:
    reply = fetch_range(client, f"{ITEMS}csv", "bytes=0-1,50-60")
    assert reply.status_code == 206
    assert reply.headers["Content-Type"].startswith("multipart/byteranges")
    assert plain(f"{ITEMS}csv")[50:61] in reply.content


def test_range_of_a_changed_export_returns_the_whole(client: httpx.Client, plain: Callable[[str], bytes]) -> None:
    export = f"{ITEMS}csv"
    tag = fetch_range(client, export, "bytes=0-0").headers["ETag"]
    same, other = (fetch_range(client, export, "bytes=5-9", **{"If-Range": known}) for known in (tag, '"other"'))
    assert (same.status_code, same.content) == (206, plain(export)[5:10])
    assert (other.status_code, other.content) == (200, plain(export))
    known = fetch_range(client, export, "bytes=5-9", **{"If-None-Match": tag})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize("range", ["bytes=99999999-", "bytes=9-3", "bytes="])
def test_unsatisfiable_ranges_return_416(client: httpx.Client, plain: Callable[[str], bytes], range: str) -> None:
    reply = fetch_range(client, f"{ITEMS}csv", range)
    assert (reply.status_code, reply.headers["Content-Type"]) == (416, "application/problem+json")
    assert reply.headers["Content-Range"] == f"bytes */{len(plain(f'{ITEMS}csv'))}"


@pytest.mark.parametrize(
    ("export", "status"),
    [(f"{ITEMS}csv&columns=colour", 422), ("/v1/collections/graphs/export?what=items&format=sdf", 409)],
)
def test_range_of_an_invalid_export_is_refused(client: httpx.Client, export: str, status: int) -> None:
    reply = fetch_range(client, export, "bytes=0-0")
    assert (reply.status_code, reply.headers["Content-Type"]) == (status, "application/problem+json")


def frame_rows(frame: Any) -> list[dict[str, Any]]:
    """Return ids, structures and numbers of a pandas or Polars frame."""
    rows = frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_dict("records")
    return [{name: row[name] for name in ("id", "smiles", "molwt", "rings")} for row in rows]


@pytest.mark.parametrize(
    ("format", "read"),
    [
        ("csv", pl.read_csv),
        ("csv", lambda url: pl.scan_csv(url).collect()),
        ("parquet", pl.read_parquet),
        ("parquet", lambda url: pl.scan_parquet(url).collect()),
        ("csv", pd.read_csv),
        ("parquet", pd.read_parquet),
    ],
    ids=["polars", "polars lazily", "polars", "polars lazily", "pandas", "pandas"],
)
def test_data_frame_libraries_read_a_url(
    client: httpx.Client, plain: Callable[[str], bytes], format: str, read: Callable[[str], Any]
) -> None:
    expected = pq.read_table(io.BytesIO(plain(f"{ITEMS}parquet"))).to_pylist()
    actual_rows = frame_rows(read(f"{client.base_url}{ITEMS}{format}"))
    assert actual_rows == [{name: row[name] for name in ("id", "smiles", "molwt", "rings")} for row in expected]


def test_fsspec_reads_from_the_middle(client: httpx.Client, plain: Callable[[str], bytes]) -> None:
    export = f"{ITEMS}sdf"
    fetch_range(client, export, "bytes=0-0")  # From now on, the server knows the length of the export.
    with fsspec.open(f"{client.base_url}{export}", block_size=1000) as file:
        file.seek(20_000)
        assert file.read(500) == plain(export)[20_000:20_500]


def test_export_file_is_created_once_and_removed_with_the_server(store_folder: Path, tmp_path: Path) -> None:
    def cached_files() -> set[str]:
        return {path.name for path in (tmp_path / "exports").rglob("export-*")}

    settings = Settings(store=store_folder, cache_dir=tmp_path, port=0)
    with Server(settings).running() as url, httpx.Client(base_url=url, timeout=60) as client:
        with ThreadPoolExecutor(8) as pool:
            ranges = [f"bytes={begin}-{begin + 9}" for begin in range(0, 1600, 10)]
            replies = list(pool.map(lambda each: fetch_range(client, f"{ITEMS}csv", each), ranges))
        assert b"".join(reply.content for reply in replies) == client.get(f"{ITEMS}csv", headers=PLAIN).content[:1600]
        assert len(cached_files()) == 1
        with Server(settings).running() as another:  # Runs over the same folder.
            assert httpx.get(f"{another}{ITEMS}csv", headers={"Range": "bytes=0-1"}, timeout=60).content == b"id"
            assert len(list((tmp_path / "exports").iterdir())) == 2
        assert len(cached_files()) == 1
        assert fetch_range(client, f"{ITEMS}csv", "bytes=0-1").content == b"id"
    assert cached_files() == set()


def test_export_files_have_a_size_limit(store_folder: Path, tmp_path: Path, plain: Callable[[str], bytes]) -> None:
    csv, files = f"{ITEMS}csv", tmp_path / "exports" / "0"
    size_limit = 2 * len(plain(csv)) - 1
    settings = Settings(store=store_folder, cache_dir=tmp_path, export_bytes=size_limit, port=0)
    with Server(settings).running() as url, httpx.Client(base_url=url, timeout=60) as client:
        refused = fetch_range(client, csv, "bytes=0-1")
        assert (refused.status_code, refused.headers["Content-Type"]) == (422, "application/problem+json")
        assert "GRAPHKIN_EXPORT_BYTES" in refused.json()["hint"]
        assert client.get(csv, headers=PLAIN).content == plain(csv)
        for stop in range(100, 110):
            assert fetch_range(client, f"{csv}&stop={stop}", "bytes=0-1").status_code == 206
            assert 0 < sum(path.stat().st_size for path in files.iterdir()) <= size_limit / 2
        assert open_to_others(tmp_path / "exports") == []


def test_leftovers_of_a_killed_server_are_removed(store_folder: Path, tmp_path: Path) -> None:
    leftovers = [tmp_path / "exports" / "0" / name for name in ("export-3", ".export-4.1.partial")]
    leftovers[0].parent.mkdir(parents=True)
    for path in leftovers:
        path.write_text("half")
    with Server(Settings(store=store_folder, cache_dir=tmp_path, port=0)).running():
        assert not any(path.exists() for path in leftovers)
