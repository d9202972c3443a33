"""Delivery of the web page. Its behavior is tested in tests/e2e/page."""

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from graphkin.api.routes import page

MAIN = b"console.log('page');" * 50


@pytest.fixture
def built_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of a built page, with another file next to it."""
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    for name in ("index.html", "docs.html"):
        (dist / name).write_text(f"<!doctype html><title>{name}</title>")
    (dist / "third-party-licenses.txt").write_text("d3-array 3.2.4: ISC")
    (dist / "assets" / "main-0a1b2c.js").write_bytes(MAIN)
    (dist / "assets" / "page-0a1b2c.css").write_text("body {}")
    (dist / "sources.sha256").write_text("0")
    (tmp_path / "secret.js").write_text("secret")
    monkeypatch.setattr(page, "_DIST", dist)
    page._files.cache_clear()
    yield dist
    page._files.cache_clear()


@pytest.fixture(scope="module")
def page_client(store_folder: Path, serve: Callable) -> Iterator[httpx.Client]:
    """Yield a client of a server in this process, because the tests replace the page's folder."""
    with serve(store_folder) as client:
        yield client


def test_page_may_only_contact_this_server(built_page: Path, page_client: httpx.Client) -> None:
    for path in ("/", "/docs", "/assets/main-0a1b2c.js"):
        headers = page_client.get(path).headers
        policy = dict(each.split(" ", 1) for each in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert {policy[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
        assert policy["frame-ancestors"] == "'none'"
        assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("path", "media_type", "cache_control"),
    [
        ("/", "text/html", "no-cache"),
        ("/docs", "text/html", "no-cache"),
        ("/licenses", "text/plain", "no-cache"),
        ("/assets/main-0a1b2c.js", "text/javascript", "max-age=31536000, immutable"),
        ("/assets/page-0a1b2c.css", "text/css", "max-age=31536000, immutable"),
    ],
)
def test_page_has_media_types_and_cache_headers(
    built_page: Path, page_client: httpx.Client, path: str, media_type: str, cache_control: str
) -> None:
    reply = page_client.get(path)
    assert reply.headers["Content-Type"].partition(";")[0] == media_type
    assert reply.headers["Cache-Control"] == cache_control
    again = page_client.get(path, headers={"If-None-Match": reply.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["Content-Security-Policy"]


def test_page_is_compressed_with_gzip(built_page: Path, page_client: httpx.Client) -> None:
    path = "/assets/main-0a1b2c.js"
    plain = page_client.get(path, headers={"Accept-Encoding": "identity"})
    with page_client.stream("GET", path, headers={"Accept-Encoding": "gzip, br"}) as compressed:
        body = b"".join(compressed.iter_raw())
    assert (plain.content, gzip.decompress(body)) == (MAIN, MAIN)
    assert len(body) < len(MAIN) / 5
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert plain.headers["ETag"] != compressed.headers["ETag"]
    assert plain.headers["Vary"] == compressed.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "name", ["gone.js", "sources.sha256", "%2e%2e%2findex.html", "..%2f..%2fsecret.js", "%2e%2e", "", "x%00.js"]
)
def test_other_files_are_not_served(built_page: Path, page_client: httpx.Client, name: str) -> None:
    reply = page_client.get(f"/assets/{name}")
    assert reply.status_code == 404
    assert reply.headers["Content-Type"] == "application/problem+json"


def test_missing_page_is_explained(built_page: Path, page_client: httpx.Client) -> None:
    for name in ("index.html", "docs.html", "third-party-licenses.txt"):
        (built_page / name).unlink()
    for path in ("/", "/docs", "/licenses"):
        reply = page_client.get(path)
        assert reply.status_code == 200
        assert "The page was not built" in reply.text
        assert "no-store" in reply.headers["Cache-Control"]


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_real_page_has_all_its_assets(page_client: httpx.Client, path: str) -> None:
    reply = page_client.get(path)
    assert reply.status_code == 200
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    for asset in re.findall(r'"(/assets/[^"]+)"', reply.text):
        assert page_client.get(asset).status_code == 200


def test_openapi_does_not_mention_the_page(page_client: httpx.Client) -> None:
    assert not {"/", "/docs", "/licenses", "/assets/{name}"} & set(page_client.get("/openapi.json").json()["paths"])
