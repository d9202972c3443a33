"""Reports from `python -m studies.report`, served from a configured folder."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from studies.report import main as make_report

URL = "/v1/collections/nci/reports"


def test_reports_of_the_generation_are_listed(client: httpx.Client, reports_folder: Path) -> None:
    reply = client.get(URL).json()
    report_file = json.loads((reports_folder / "nci" / "hops.json").read_text())
    assert reply["generation"] == report_file["generation"] == client.get("/v1/collections/nci").json()["generation"]
    (entry,) = reply["reports"]
    assert entry.pop("name") == "hops"
    assert entry == {name: report_file[name] for name in ("title", "command", "seeds", "notes")}
    assert len(client.get("/v1/collections/social/reports").json()["reports"]) == 1
    assert client.get("/v1/collections/hard/reports").json()["reports"] == []


def test_chart_equals_the_file(client: httpx.Client, reports_folder: Path) -> None:
    reply = client.get(f"{URL}/hops.svg")
    assert reply.headers["content-type"] == "image/svg+xml"
    assert reply.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert reply.headers["graphkin-generation"] == client.get(URL).json()["generation"]
    assert reply.content == (reports_folder / "nci" / "hops.svg").read_bytes()


@pytest.mark.parametrize("name", ["orders", "..", "%2e%2e%2fnci%2fhops", "list", "broken"])
def test_unknown_report_returns_404(client: httpx.Client, name: str) -> None:
    reply = client.get(f"{URL}/{name}.svg")
    assert reply.status_code == 404
    if name == "orders":
        assert (reply.json()["given"], reply.json()["expected"]) == ("orders", "hops")


def test_new_report_is_listed_while_the_server_runs(
    store_folder: Path, serve: Callable[..., AbstractContextManager[httpx.Client]], tmp_path: Path
) -> None:
    def make(seed: int) -> None:
        options = ["--store", str(store_folder), "--collection", "nci", "--targets", "10", "--seed", str(seed)]
        assert make_report(["hops", *options, "--output", str(tmp_path)]) == 0

    with serve(store_folder, reports=tmp_path) as client:
        assert client.get(URL).json()["reports"] == []
        assert client.get(f"{URL}/hops.svg").json()["expected"] == "no name: the generation has no reports"
        make(seed=0)
        tags = {url: client.get(url).headers["etag"] for url in (URL, f"{URL}/hops.svg")}
        for url, tag in tags.items():
            assert client.get(url, headers={"If-None-Match": tag}).status_code == 304
        make(seed=1)
        for url, tag in tags.items():
            assert client.get(url, headers={"If-None-Match": tag}).status_code == 200
