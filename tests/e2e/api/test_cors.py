"""Pages of other origins: what they are told, and what a browser lets them do."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from graphkin.api.settings import Settings
from graphkin.protocol.errors import InvalidInput

URL = "/v1/collections/nci"
OURS, OTHERS = "https://lab.example.org", "https://example.org"
ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}


@pytest.fixture(scope="module")
def shared(store_folder: Path, serve: Callable) -> Iterator[httpx.Client]:
    with serve(store_folder, cors_origins=(OURS,)) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "status"),
    [(f"{URL}/items/5", 200), (f"{URL}/items/100000", 404), (f"{URL}/export?what=items&format=csv", 200)],
)
def test_pages_of_an_origin_that_is_named_may_read(shared: httpx.Client, path: str, status: int) -> None:
    reply = shared.get(path, headers={"Origin": OURS})
    assert (reply.status_code, reply.headers["Access-Control-Allow-Origin"]) == (status, OURS)
    exposed = {name.lower() for name in reply.headers["Access-Control-Expose-Headers"].split(", ")}
    assert {"etag", "graphkin-generation", "retry-after", "content-range"} <= exposed
    assert "Access-Control-Allow-Credentials" not in reply.headers


@pytest.mark.parametrize("headers", [{"Origin": OTHERS}, {"Origin": "null"}, {"Origin": f"{OURS}.example.com"}, {}])
def test_no_others_may(shared: httpx.Client, headers: dict[str, str]) -> None:
    reply = shared.get(f"{URL}/items/5", headers=headers)
    assert reply.status_code == 200
    assert "Access-Control-Allow-Origin" not in reply.headers
    assert "Origin" in reply.headers["Vary"].split(", ")  # no cache gives one of them what another was answered
    if headers:
        assert shared.options(f"{URL}/search", headers={**headers, **ASKED}).status_code == 400


def test_a_browser_that_asks_first_is_told(shared: httpx.Client, client: httpx.Client) -> None:
    told = shared.options(f"{URL}/search", headers={"Origin": OURS, **ASKED})
    assert (told.status_code, told.headers["Access-Control-Allow-Origin"]) == (200, OURS)
    assert set(told.headers["Access-Control-Allow-Methods"].split(", ")) == {"GET", "HEAD", "POST"}
    assert shared.options(f"{URL}/search").status_code == 405
    assert client.options(f"{URL}/search", headers={"Origin": OURS, **ASKED}).status_code == 405  # without the setting


def test_any_origin_if_it_is_said(store_folder: Path, serve: Callable) -> None:
    with serve(store_folder, cors_origins="*") as client:
        assert client.get(URL, headers={"Origin": OTHERS}).headers["Access-Control-Allow-Origin"] == "*"
        assert client.get(URL, headers={"Origin": OTHERS, "Host": "example.org"}).status_code == 400


@pytest.mark.parametrize(
    "origin", ["lab.example.org", f"{OURS}/", f"{OURS}/page", "null", "https://*.example.org", "file://x"]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInput, match="cors_origins") as refused:
        Settings(store="unused", cors_origins=f"{OURS},{origin}")
    assert refused.value.given == origin
    assert "GRAPHKIN_CORS_ORIGINS in" in str(refused.value.hint)


def test_origins_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHKIN_CORS_ORIGINS", f"{OURS}, HTTP://localhost:5173")
    assert Settings(store="unused").cors_origins == (OURS, "http://localhost:5173")
