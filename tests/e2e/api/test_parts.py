"""Exports as files at a URL: read whole or in parts, by programs that are not ours."""

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


def part(client: httpx.Client, url: str, range: str, **headers: str) -> httpx.Response:
    return client.get(url, headers={**PLAIN, "Range": range, **headers})


@pytest.fixture(scope="module")
def plain(client: httpx.Client) -> Callable[[str], bytes]:
    """`plain(export)`: what it is, streamed by a request that asks for no part."""
    return lambda export: client.get(export, headers=PLAIN).content


@pytest.mark.parametrize("export", EXPORTS)
def test_parts_are_parts_of_what_is_streamed(client: httpx.Client, plain: Callable[[str], bytes], export: str) -> None:
    streamed = plain(export)
    size = len(streamed)
    for asked, begin, end in (
        ("0-0", 0, 1),
        ("7-100", 7, 101),
        (f"{size - 5}-", size - 5, size),
        ("-9", size - 9, size),
    ):
        reply = part(client, export, f"bytes={asked}")
        assert (reply.status_code, reply.content) == (206, streamed[begin:end])
        assert reply.headers["Content-Range"] == f"bytes {begin}-{end - 1}/{size}"
    head, whole = client.head(export, headers=PLAIN), client.get(export, headers=PLAIN)
    assert whole.content == streamed
    for reply in (head, whole):
        assert (reply.status_code, int(reply.headers["Content-Length"])) == (200, size)
        assert reply.headers["Accept-Ranges"] == "bytes"
        assert reply.headers["ETag"] == part(client, export, "bytes=0-0").headers["ETag"]


def test_several_parts_come_at_once(client: httpx.Client, plain: Callable[[str], bytes]) -> None:
    reply = part(client, f"{ITEMS}csv", "bytes=0-1,50-60")
    assert reply.status_code == 206
    assert reply.headers["Content-Type"].startswith("multipart/byteranges")
    assert plain(f"{ITEMS}csv")[50:61] in reply.content


def test_a_part_of_what_has_changed_is_the_whole(client: httpx.Client, plain: Callable[[str], bytes]) -> None:
    export = f"{ITEMS}csv"
    tag = part(client, export, "bytes=0-0").headers["ETag"]
    same, other = (part(client, export, "bytes=5-9", **{"If-Range": known}) for known in (tag, '"other"'))
    assert (same.status_code, same.content) == (206, plain(export)[5:10])
    assert (other.status_code, other.content) == (200, plain(export))
    known = part(client, export, "bytes=5-9", **{"If-None-Match": tag})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize("range", ["bytes=99999999-", "bytes=9-3", "bytes="])
def test_parts_that_there_are_not(client: httpx.Client, plain: Callable[[str], bytes], range: str) -> None:
    reply = part(client, f"{ITEMS}csv", range)
    assert (reply.status_code, reply.headers["Content-Type"]) == (416, "application/problem+json")
    assert reply.headers["Content-Range"] == f"bytes */{len(plain(f'{ITEMS}csv'))}"


@pytest.mark.parametrize(
    ("export", "status"),
    [(f"{ITEMS}csv&columns=colour", 422), ("/v1/collections/graphs/export?what=items&format=sdf", 409)],
)
def test_what_is_not_exported_has_no_parts(client: httpx.Client, export: str, status: int) -> None:
    reply = part(client, export, "bytes=0-0")
    assert (reply.status_code, reply.headers["Content-Type"]) == (status, "application/problem+json")


def as_rows(found: Any) -> list[dict[str, Any]]:
    """Of a frame of pandas or polars: ids, structures and numbers."""
    rows = found.to_dicts() if isinstance(found, pl.DataFrame) else found.to_dict("records")
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
def test_data_frames_read_a_url(
    client: httpx.Client, plain: Callable[[str], bytes], format: str, read: Callable[[str], Any]
) -> None:
    expected = pq.read_table(io.BytesIO(plain(f"{ITEMS}parquet"))).to_pylist()
    found = as_rows(read(f"{client.base_url}{ITEMS}{format}"))
    assert found == [{name: row[name] for name in ("id", "smiles", "molwt", "rings")} for row in expected]


def test_a_file_system_of_urls_reads_where_it_is_told(client: httpx.Client, plain: Callable[[str], bytes]) -> None:
    export = f"{ITEMS}sdf"
    part(client, export, "bytes=0-0")  # from now on its length is known
    with fsspec.open(f"{client.base_url}{export}", block_size=1000) as file:
        file.seek(20_000)
        assert file.read(500) == plain(export)[20_000:20_500]


def test_a_file_is_made_once_and_goes_with_the_server(store_folder: Path, tmp_path: Path) -> None:
    def kept() -> set[str]:
        return {path.name for path in (tmp_path / "exports").rglob("export-*")}

    settings = Settings(store=store_folder, cache_dir=tmp_path, port=0)
    with Server(settings).running() as url, httpx.Client(base_url=url, timeout=60) as client:
        with ThreadPoolExecutor(8) as pool:
            asked = [f"bytes={begin}-{begin + 9}" for begin in range(0, 1600, 10)]
            replies = list(pool.map(lambda each: part(client, f"{ITEMS}csv", each), asked))
        assert b"".join(reply.content for reply in replies) == client.get(f"{ITEMS}csv", headers=PLAIN).content[:1600]
        assert len(kept()) == 1
        with Server(settings).running() as another:  # over the same folder
            assert httpx.get(f"{another}{ITEMS}csv", headers={"Range": "bytes=0-1"}, timeout=60).content == b"id"
            assert len(list((tmp_path / "exports").iterdir())) == 2
        assert len(kept()) == 1
        assert part(client, f"{ITEMS}csv", "bytes=0-1").content == b"id"
    assert kept() == set()


def test_files_are_bounded(store_folder: Path, tmp_path: Path, plain: Callable[[str], bytes]) -> None:
    csv, files = f"{ITEMS}csv", tmp_path / "exports" / "0"
    room = 2 * len(plain(csv)) - 1
    settings = Settings(store=store_folder, cache_dir=tmp_path, export_bytes=room, port=0)
    with Server(settings).running() as url, httpx.Client(base_url=url, timeout=60) as client:
        refused = part(client, csv, "bytes=0-1")
        assert (refused.status_code, refused.headers["Content-Type"]) == (422, "application/problem+json")
        assert "GRAPHKIN_EXPORT_BYTES" in refused.json()["hint"]
        assert client.get(csv, headers=PLAIN).content == plain(csv)
        for stop in range(100, 110):
            assert part(client, f"{csv}&stop={stop}", "bytes=0-1").status_code == 206
            assert 0 < sum(path.stat().st_size for path in files.iterdir()) <= room / 2
        assert open_to_others(tmp_path / "exports") == []


def test_what_a_server_that_was_killed_has_left_is_swept(store_folder: Path, tmp_path: Path) -> None:
    left = [tmp_path / "exports" / "0" / name for name in ("export-3", ".export-4.1.partial")]
    left[0].parent.mkdir(parents=True)
    for path in left:
        path.write_text("half")
    with Server(Settings(store=store_folder, cache_dir=tmp_path, port=0)).running():
        assert not any(path.exists() for path in left)
