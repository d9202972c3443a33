"""Multipart forms that no browser sends, to every operation that receives one."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.until import until

BOUNDARY = "b0undary"
PATHS = ("/v1/previews", "/v1/collections", "/v1/collections/none/append")
FIELDS = (
    "name",
    "format",
    "smiles_column",
    "properties",
    "unit",
    "threshold",
    "partial",
    "decimal",
    "colour",
    "file",
    "",
)
VALUES = (
    "",
    "mine",
    "csv",
    "smiles",
    "0.5",
    "true",
    "IC50=nM",
    "../..",
    "\0",
    "x" * 20_000,
    "\ud800",
    "\u202e",
    "-1",
    "[]",
)
FILE_NAMES = (
    *("a.csv", "A.SMI", "a.xlsx", "a.parquet", "a.sdf.gz", "a.zip", "a", "", ".", "../../a.csv"),
    *("\0.csv", 'q".csv', "\u5206.csv", "a\r\nX: y.csv", "x" * 5000 + ".csv"),
)
CONTENTS = (b"", b"\0", b"\xff\xfe\xff", b"PK\x03\x04", b"\x1f\x8b", b"smiles,smiles\nC,C\n", b"CCO\n", b"\n" * 999)
TYPES = ("text/csv", "text/plain; charset=utf-7", "multipart/mixed; boundary=x", "", "\u00e9", "x" * 70_000)


def part(name: str, value: bytes, file_name: str | None = None, kind: str | None = None) -> bytes:
    """Return a part of a form as it is sent. The arguments may be anything."""
    head = f'Content-Disposition: form-data; name="{name}"'
    head += "" if file_name is None else f'; filename="{file_name}"'
    head += "" if kind is None else f"\r\nContent-Type: {kind}"
    return f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode(errors="surrogatepass") + value + b"\r\n"


fields = st.builds(
    part, st.sampled_from(FIELDS), st.sampled_from(VALUES).map(lambda text: text.encode(errors="surrogatepass"))
)
files = st.builds(
    part,
    st.sampled_from(("file", "file", "other", "")),
    st.sampled_from(CONTENTS),
    st.sampled_from(FILE_NAMES),
    st.none() | st.sampled_from(TYPES),
)
ends = st.sampled_from((f"--{BOUNDARY}--\r\n", f"--{BOUNDARY}", "", "--other--\r\n", f"\r\n--{BOUNDARY}--garbage")).map(
    str.encode
)
content_types = st.sampled_from(
    (
        *[f"multipart/form-data; boundary={BOUNDARY}"] * 6,
        "multipart/form-data",
        "multipart/form-data; boundary=",
        f"multipart/form-data; boundary={'b' * 5000}",
        f'multipart/form-data; boundary="{BOUNDARY}; charset=utf-16',
        f"multipart/form-data; boundary={BOUNDARY}; charset=nonsense",
        f"multipart/form-data; boundary={BOUNDARY}; charset=rot13",
        "application/x-www-form-urlencoded",
    )
)
bodies = st.builds(
    lambda parts, end, cut: (b"".join(parts) + end)[: None if cut is None else -cut],
    st.lists(fields | files, max_size=4),
    ends,
    st.none() | st.integers(1, 60),
)


class Sender:
    """Sends requests to a server that accepts writes, each over a connection of its own.

    Args:
        url: Address of the server.
    """

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url)

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str, bytes]:
        """Return the status, the media type and the content of a reply."""
        connection = HTTPConnection(str(self._address.hostname), self._address.port, timeout=60)
        with closing(connection):
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            reply = connection.getresponse()
            return reply.status, reply.headers.get("Content-Type", ""), reply.read()

    def jobs(self) -> list[dict[str, str]]:
        """Return the jobs of the server."""
        jobs: list[dict[str, str]] = json.loads(self.send("GET", "/v1/jobs")[2])["jobs"]
        return jobs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the folder of the cache and of all temporary files of the server."""
    folder = tmp_path_factory.mktemp("forms")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(scope="module")
def sender(serve: Callable[..., AbstractContextManager[str]], folder: Path) -> Iterator[Sender]:
    with serve(folder / "store", cache_dir=folder / "cache") as url:
        yield Sender(url)


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(
    "/v1/previews", f"multipart/form-data; boundary={BOUNDARY}", part("file", b"", "a.csv") + f"--{BOUNDARY}--".encode()
)
@given(st.sampled_from(PATHS), content_types, bodies)
def test_no_form_breaks_the_server(sender: Sender, folder: Path, path: str, content_type: str, body: bytes) -> None:
    """Any form is a problem with a title, or one that the operation accepts. It leaves no file, and no job."""
    status, kind, content = sender.send("POST", path, body, Content_Type=content_type)
    reply = json.loads(content)
    if status in (200, 202):
        assert kind == "application/json"
    else:
        assert 400 <= status < 500 or status == 503, (status, reply)
        assert kind == "application/problem+json"
        assert reply["title"]
        assert reply["detail"]
    assert [path for path in folder.iterdir() if path.name not in ("cache", "store")] == []


def test_forms_leave_no_job_and_no_file(sender: Sender, folder: Path) -> None:
    until(lambda: all(job["state"] != "running" for job in sender.jobs()))
    assert [*folder.glob("cache/jobs/*/*/files/*")] == []
