"""Uploads create and change collections, in jobs that every server of the store sees and that end with their server."""

import asyncio
import gzip
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import psutil
import pytest

from graphkin.api.jobs import safe_name
from graphkin.api.previews import Previews
from graphkin.api.settings import Settings
from graphkin.client import Graphkin
from graphkin.ingest import pipeline
from graphkin.protocol.errors import Conflict, NotFound, StoreBusy
from graphkin.protocol.keys import create_key
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from tests.until import until

Serve = Callable[..., AbstractContextManager[httpx.Client]]

TABLE = "id,Structure,IC50 (nM)\nA,CCO,12\nB,CCN,3\nC,CCCO,40\nD,CCCCO,7\n"
FIELDS = {"name": "mine", "smiles_column": "Structure", "threshold": "0.2"}
GRAPHKIN = Path(sys.executable).with_name("graphkin")
UNFINISHED = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.smi"\r\n\r\nCCO'
SERVER = (
    "from graphkin.api.serve import Server\n"
    "from graphkin.api.settings import Settings\n"
    "server = Server(Settings())\n"
    "print(server.url, flush=True)\n"
    "server.run()\n"
)
"""Serves with the settings of the environment."""


def upload(
    client: httpx.Client, path: str = "/v1/collections", text: str = TABLE, file_name: str = "mine.csv", **fields: Any
) -> httpx.Response:
    return client.post(path, data=fields, files={"file": (file_name, text.encode())})


def wait(client: httpx.Client, reply: httpx.Response) -> dict[str, Any]:
    """Return a job when it has ended."""
    assert reply.status_code == 202, reply.text
    path = reply.headers["Location"]
    assert path == f"/v1/jobs/{reply.json()['job']}"

    def ended() -> dict[str, Any] | None:
        job: dict[str, Any] = client.get(path).json()
        return None if job["state"] == "running" else job

    return until(ended)


@pytest.fixture(scope="module")
def writer(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Yield a client of a server whose store does not exist at first."""
    folder = tmp_path_factory.mktemp("writer")
    with serve(folder / "store", cache_dir=folder / "cache") as client:
        assert client.get("/v1/collections").json()["collections"] == []
        assert not (folder / "store").exists()
        yield client
    assert [*(folder / "cache").glob("jobs/*/*/status.json")]
    assert not [*(folder / "cache").glob("jobs/*/*/files/*")]


def test_files_create_and_change_a_collection(writer: httpx.Client) -> None:
    client = writer
    job = wait(client, upload(client, **FIELDS))
    assert (job["state"], job["command"], job["collection"], job["source"]) == (
        "done",
        "ingest",
        "mine",
        "mine.csv",
    )
    assert (job["items"], job["rejected"], job["error"]) == (4, 0, None)
    detail = client.get("/v1/collections/mine").json()
    assert detail["generation"] == job["generation"]
    assert [each["name"] for each in detail["manifest"]["inputs"]] == ["mine.csv"]

    more = "smiles,name\nCCCCCO,E\nC1CC,broken\n"
    job = wait(client, upload(client, "/v1/collections/mine/append", more, "more.csv", max_rejected="0.5"))
    assert (job["state"], job["items"], job["rejected"]) == ("done", 1, 1)
    rejections = client.get(f"/v1/jobs/{job['id']}/rejections")
    assert rejections.headers["Content-Disposition"] == 'attachment; filename="mine.rejections.csv"'
    lines = rejections.text.splitlines()
    assert lines[0] == "source,line,input,reason"
    assert lines[1].startswith("more.csv,3,C1CC,")

    job = wait(client, client.post("/v1/collections/mine/remove", json={"names": ["A", "nobody"]}))
    assert (job["state"], job["items"], job["rejected"]) == ("done", 1, 1)
    assert "nobody" in client.get(f"/v1/jobs/{job['id']}/rejections").text
    assert client.get("/v1/collections/mine").json()["manifest"]["counts"]["kept"] == 4
    commands = [each["command"] for each in client.get("/v1/jobs").json()["jobs"] if each["collection"] == "mine"]
    assert sorted(commands) == ["append", "ingest", "remove"]
    assert upload(client, **FIELDS).status_code == 409


def test_upload_publishes_the_generation_of_an_ingest(writer: httpx.Client, tmp_path: Path, nci_file: Path) -> None:
    lines = nci_file.read_text().splitlines()[:300]
    (tmp_path / "nci.smi").write_text("\n".join(lines) + "\n")
    with open_store(tmp_path / "store", create=True) as store:
        expected = pipeline.ingest(store, "command", [str(tmp_path / "nci.smi")], resolve(threshold=0.5)).generation
    with Graphkin(str(writer.base_url)) as server, (tmp_path / "nci.smi").open("rb") as file:
        assert server.preview(file).accepted == 200
        file.seek(0)
        job = server.create_collection(file, "uploaded", threshold=0.5)
        until(lambda: server.job(job).state != "running")
        assert server.job(job).generation == expected
        assert server.jobs()[0].id == job
        with pytest.raises(Conflict):
            server.cancel_job(job)
        with pytest.raises(NotFound):
            server.job_rejections(job)


def test_upload_with_units_publishes_the_generation_of_the_command(writer: httpx.Client, tmp_path: Path) -> None:
    text = "Code,Structure,IC50,Ki (nM),Dose mM\nA-1,CCO,12,3,1\nA-2,CCN,<3,4,2\nA-3,CCCO,40,5,3\n"
    (tmp_path / "units.csv").write_text(text)
    units = ["IC50=nM", "Ki (nM)=uM", "Dose mM=none"]
    command = ["ingest", "molecules", str(tmp_path / "units.csv"), "--store", str(tmp_path / "store")]
    command += ["--collection", "units", "--smiles-column", "Structure", "--json"]
    command += [part for unit in units for part in ("--unit", unit)]
    ingest = subprocess.run([GRAPHKIN, *command], check=True, capture_output=True, text=True)
    expected = json.loads(ingest.stdout)["generation"]
    fields: dict[str, Any] = {"name": "units", "smiles_column": "Structure", "unit": units}
    job = wait(writer, upload(writer, text=text, file_name="units.csv", **fields))
    assert (job["state"], job["error"], job["generation"]) == ("done", None, expected)
    properties = writer.get("/v1/collections/units").json()["manifest"]["properties"]
    assert {"IC50 (nM)", "Ki (uM)", "Dose"} <= {*properties}
    assert not {"IC50", "Ki (nM)", "Dose mM"} & {*properties}
    activities = writer.get("/v1/collections/units/descriptors").json()["activities"]
    assert [(each["label"], each["unit"]) for each in activities] == [("pIC50", "nM"), ("pKi", "uM")]
    job = wait(writer, upload(writer, text=text, file_name="units.csv", **{**fields, "name": "no", "unit": ["x=nM"]}))
    assert job["error"]["detail"] == "no record of units.csv has a value in a column 'x'"
    refused = upload(writer, text=text, file_name="units.csv", **{**fields, "name": "no", "unit": ["IC50=kg"]})
    assert refused.status_code == 422


def test_job_that_fails_publishes_nothing_and_says_why(writer: httpx.Client) -> None:
    text = "smiles\nCCO\nC1CC\nC1C\n"
    job = wait(writer, upload(writer, text=text, file_name="my file.csv", name_column="", name="bad"))
    assert (job["state"], job["rejected"], job["generation"]) == ("failed", 2, None)
    assert "nothing was published" in job["error"]["detail"]
    assert "/cache" not in json.dumps(job)
    rejections = writer.get(f"/v1/jobs/{job['id']}/rejections").text
    assert [line.partition(",")[0] for line in rejections.splitlines()[1:]] == ["my file.csv"] * 2
    job = wait(writer, upload(writer, text=text, file_name="bad.rejections.csv", name="bad"))
    assert (job["state"], job["rejected"]) == ("failed", 2)
    assert "bad.rejections.csv,3,C1CC," in writer.get(f"/v1/jobs/{job['id']}/rejections").text
    job = wait(writer, upload(writer, text="a,b\n1,2\n", file_name="bad.rejections.csv", name="bad"))
    assert (job["state"], job["rejected"]) == ("failed", None)
    job = wait(writer, upload(writer, text="a,b\n1,2\n", **{**FIELDS, "name": "bad"}))
    assert job["error"]["hint"] == "name the column with smiles_column="
    assert writer.get("/v1/collections/bad").status_code == 404


def test_job_that_needs_too_much_memory_says_so(serve: Serve, tmp_path: Path) -> None:
    """A small compressed table of long texts needs more memory than the limit."""
    cell = "x" * 900_000
    rows = "".join(f"{'C' * (number + 1)}O,{cell}{number}\n" for number in range(900))
    file = {"file": ("long.csv.gz", gzip.compress(f"smiles,comment\n{rows}".encode(), 1))}
    with serve(tmp_path / "store", job_bytes=700 * 2**20) as client:
        job = wait(client, client.post("/v1/collections", data={"name": "long"}, files=file))
        assert job["state"] == "failed"
        assert job["error"]["detail"] == "the job needs more memory than this server permits; nothing was published"
        assert job["error"]["expected"] == "at most 700 MiB for each process"
        assert "GRAPHKIN_JOB_BYTES" in job["error"]["hint"]
        assert client.get("/v1/collections").json()["collections"] == []


def test_job_is_canceled_from_another_server_and_leaves_its_slot(serve: Serve, tmp_path: Path, nci_file: Path) -> None:
    cache, text = tmp_path / "cache", nci_file.read_text()
    with (
        serve(tmp_path / "store", cache_dir=cache, jobs=1) as one,
        serve(tmp_path / "store", cache_dir=cache, jobs=1) as other,
    ):
        reply = upload(one, text=text, file_name="nci.smi", name="nci")
        refused = upload(other, **FIELDS)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert other.get(reply.headers["Location"]).json()["state"] == "running"
        assert other.post(f"{reply.headers['Location']}/cancel").json()["state"] in ("running", "canceled")
        assert wait(one, reply)["state"] == "canceled"
        job = until(lambda: (again := upload(other, **FIELDS)).status_code == 202 and wait(other, again))
        assert job["state"] == "done"
        assert [each["name"] for each in one.get("/v1/collections").json()["collections"]] == ["mine"]


def test_killed_server_ends_its_jobs_and_the_next_one_says_so(serve: Serve, tmp_path: Path, nci_file: Path) -> None:
    variables = {"STORE": str(tmp_path / "store"), "PORT": "0", "CACHE_DIR": str(tmp_path / "cache")}
    environment = {**os.environ, **{f"GRAPHKIN_{name}": value for name, value in variables.items()}}
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with httpx.Client(base_url=process.stdout.readline().strip(), timeout=60) as client:
            reply = upload(client, text=nci_file.read_text(), file_name="nci.smi", name="nci")
            jobs = [each for each in psutil.Process(process.pid).children() if "graphkin.ingest.job" in each.cmdline()]
        process.send_signal(signal.SIGKILL)
    assert len(jobs) == 1
    _, alive = psutil.wait_procs(jobs, timeout=60)
    assert not alive
    with serve(tmp_path / "store", cache_dir=tmp_path / "cache") as client:
        job = client.get(reply.headers["Location"]).json()
        assert (job["state"], job["generation"]) == ("failed", None)
        assert "server stopped" in job["error"]["detail"]
        assert client.get("/v1/collections").json()["collections"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_other_origins_change_nothing(client: httpx.Client, headers: dict[str, str]) -> None:
    file = {"file": ("mine.csv", TABLE)}
    requests: dict[str, Any] = {
        "/v1/collections": {"data": FIELDS, "files": file},
        "/v1/collections/nci/append": {"files": file},
        "/v1/collections/nci/remove": {"json": {"names": ["1"]}},
        "/v1/previews": {"files": file},
        "/v1/jobs/0123456789abcdef/cancel": {},
    }
    earlier_jobs = client.get("/v1/jobs").json()
    for path, request in requests.items():
        reply = client.post(path, headers=headers, **request)
        assert (reply.status_code, reply.json()["title"]) == (403, "Key not for this"), path
    assert client.get("/v1/jobs").json() == earlier_jobs


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, True),
        ({"host": "::1"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"allowed_hosts": "localhost,lab.example.org"}, False),
        ({"allowed_hosts": "*"}, False),
        ({"host": "0.0.0.0", "writes": True}, True),
        ({"writes": False}, False),
    ],
)
def test_only_a_server_that_no_other_machine_reaches_accepts_writes_by_default(
    settings: dict[str, Any], expected: bool
) -> None:
    assert Settings(store="s", **settings).accepts_writes is expected


def test_server_without_writes_refuses_uploads(store_folder: Path, serve: Serve) -> None:
    with serve(store_folder, writes=False) as client:
        assert client.get("/v1/collections").json()["uploads"] is None
        assert upload(client, **FIELDS).status_code == 403
        assert client.post("/v1/collections/nci/remove", json={"names": ["1"]}).status_code == 403
        assert client.get("/v1/jobs").status_code == 403


def test_key_limits_uploads_to_its_collections(own_folder: Path, serve: Serve) -> None:
    secrets = {}
    with open_store(own_folder) as store:
        for name, access, collections in (("all", "write", []), ("mine", "write", ["mine"]), ("reader", "read", [])):
            secrets[name], key = create_key(name, [access, "read"], collections)  # type: ignore[list-item]
            store.keys().add(key)
    headers = {name: {"Authorization": f"Bearer {secret}"} for name, secret in secrets.items()}
    with serve(own_folder) as client:
        file = {"file": ("mine.csv", TABLE)}
        limits = {name: client.get("/v1/collections", headers=each).json()["uploads"] for name, each in headers.items()}
        assert (limits["reader"], limits["all"]) == (None, {"max_bytes": 200 * 2**20, "max_seconds": 600.0})
        refused = client.post("/v1/collections", data={**FIELDS, "name": "other"}, files=file, headers=headers["mine"])
        assert refused.status_code == 403
        assert client.post("/v1/collections", data=FIELDS, files=file, headers=headers["reader"]).status_code == 403
        client.headers = httpx.Headers(headers["mine"])
        job = wait(client, client.post("/v1/collections", data=FIELDS, files=file))
        assert job["state"] == "done"
        with open_store(own_folder) as store:
            secret, key = create_key("elsewhere", ["write"], ["nci"])
            store.keys().add(key)
        elsewhere = {"Authorization": f"Bearer {secret}"}
        until(lambda: client.get("/v1/jobs", headers=elsewhere).status_code != 401)
        assert client.get("/v1/jobs", headers=elsewhere).json() == {"jobs": []}
        assert client.get(f"/v1/jobs/{job['id']}", headers=elsewhere).status_code == 403
        assert client.post(f"/v1/jobs/{job['id']}/cancel", headers=elsewhere).status_code == 403


def test_limits_of_uploads(store_folder: Path, serve: Serve) -> None:
    limits = {"upload_bytes": 2000, "upload_seconds": 0.5, "body_seconds": 3600}
    with serve(store_folder, **limits) as client:
        assert upload(client, "/v1/previews", text="C" * 2000).status_code == 413
        part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.smi"\r\n\r\n'
        chunks = iter([part, b"x" * 1500, b"x" * 1500])
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        chunked = client.post("/v1/previews", content=chunks, headers=headers)
        assert chunked.status_code == 413
        address = (client.base_url.host, client.base_url.port or 80)
        head = "POST /v1/previews HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
        kind = "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
        with socket.create_connection(address, timeout=60) as connection:
            connection.sendall(f"{head}{kind}--b".encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("request_options", "status", "part"),
    [
        ({"json": {"name": "mine"}}, 415, "multipart form"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 400, "boundary"),
        (
            {"content": b"garbage", "headers": {"Content-Type": "multipart/form-data; boundary=b"}},
            400,
            "cannot be read",
        ),
        ({"content": UNFINISHED, "headers": {"Content-Type": "multipart/form-data; boundary=b"}}, 400, "last boundary"),
        ({"data": {"name": "mine"}, "files": {"other": ("a.csv", TABLE)}}, 422, "file"),
        ({"data": {"name": "mine", "file": TABLE}, "files": {"file": ("a.csv", TABLE)}}, 400, "not a file"),
        ({"data": {"name": "mine"}, "files": [("file", ("a.csv", TABLE))] * 2}, 400, "Too many files"),
        ({"data": {"name": "../mine"}, "files": {"file": ("a.csv", TABLE)}}, 422, "valid name"),
        ({"data": {"name": "mine", "colour": "red"}, "files": {"file": ("a.csv", TABLE)}}, 422, "colour"),
        ({"data": {"name": "mine", "threshold": "2"}, "files": {"file": ("a.csv", TABLE)}}, 422, "threshold"),
        ({"data": {"name": ["mine", "yours"]}, "files": {"file": ("a.csv", TABLE)}}, 422, "name"),
    ],
)
def test_invalid_forms_are_explained(
    client: httpx.Client, request_options: dict[str, Any], status: int, part: str
) -> None:
    reply = client.post("/v1/collections", **request_options)
    assert reply.status_code == status, reply.text
    assert part in reply.json()["detail"]
    assert reply.json()["hint"]


def test_preview_of_a_file_changes_nothing(client: httpx.Client) -> None:
    before = client.get("/v1/collections").json()
    reply = client.post("/v1/previews", files={"file": ("../../t.csv", TABLE)}, data={"name_column": "id"}).json()
    assert (reply["smiles_column"], reply["name_column"], reply["accepted"]) == ("Structure", "id", 4)
    refused = client.post("/v1/previews", files={"file": ("t.xlsx", TABLE)})
    assert (refused.status_code, refused.json()["detail"]) == (422, "t.xlsx is not an Excel workbook")
    assert client.get("/v1/collections").json() == before


def test_preview_of_a_huge_empty_sheet_is_refused(client: httpx.Client) -> None:
    """A workbook of some kilobytes whose last cell is far away stands for billions of empty cells."""
    names = "http://schemas.openxmlformats.org"
    relation = f"{names}/officeDocument/2006/relationships"
    corners = (("A", 1), ("XFD", 9999))
    cells = "".join(f"<row r='{row}'><c r='{column}{row}'><v>1</v></c></row>" for column, row in corners)
    head = f"<Relationships xmlns='{names}/package/2006/relationships'><Relationship Id='r' Type='{relation}"
    parts = {
        "[Content_Types].xml": f"<Types xmlns='{names}/package/2006/content-types'/>",
        "_rels/.rels": f"{head}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
        "xl/_rels/workbook.xml.rels": f"{head}/worksheet' Target='worksheets/sheet1.xml'/></Relationships>",
        "xl/workbook.xml": f"<workbook xmlns='{names}/spreadsheetml/2006/main' xmlns:r='{relation}'>"
        "<sheets><sheet name='a' sheetId='1' r:id='r'/></sheets></workbook>",
        "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{names}/spreadsheetml/2006/main'>"
        f"<sheetData>{cells}</sheetData></worksheet>",
    }
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    reply = client.post("/v1/previews", files={"file": ("sparse.xlsx", file.getvalue())})
    assert reply.status_code == 422
    assert reply.json()["detail"] == "the beginning of the file takes too much memory to read"


def test_oldest_waiting_preview_makes_place_for_the_newest() -> None:
    """Clients that wait hold no more than a bounded number of files."""

    async def wait(previews: Previews, number: int, outcomes: dict[int, str], release: asyncio.Event) -> None:
        try:
            async with previews.place():
                await release.wait()
            outcomes[number] = "served"
        except StoreBusy as error:
            outcomes[number] = f"busy, retry after {error.retry_after} s"

    async def run() -> dict[int, str]:
        previews, release = Previews(None, max_waiting=3), asyncio.Event()  # type: ignore[arg-type]
        outcomes: dict[int, str] = {}
        async with asyncio.TaskGroup() as tasks:
            for number in range(5):
                tasks.create_task(wait(previews, number, outcomes, release))
                await asyncio.sleep(0)
            release.set()
        return outcomes

    busy = "busy, retry after 5 s"
    assert asyncio.run(run()) == {0: busy, 1: busy, 2: "served", 3: "served", 4: "served"}


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("my molecules (1).csv", "my molecules (1).csv"),
        ("../../etc/passwd", "passwd"),
        (r"C:\data\set.sdf", "set.sdf"),
        ("-", "upload"),
        ("..", "upload"),
        ("--store.csv", "store.csv"),
        ("rdkit.py", "rdkit.txt"),
        ("a\n\0b.smi", "a__b.smi"),
        ("mötley.csv", "mötley.csv"),
        ("x" * 300 + ".csv", "x" * 146 + ".csv"),
        ("分" * 100 + ".csv", "分" * 48 + ".csv"),
        ("", "upload"),
    ],
)
def test_name_of_an_uploaded_file_is_safe(name: str, safe: str) -> None:
    assert safe_name(name) == safe
