"""CORS: headers of replies to pages of other origins, and preflight requests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from graphkin.api.settings import Settings
from graphkin.protocol.errors import InvalidInput

URL = "/v1/collections/nci"
ALLOWED, OTHER = "https://lab.example.org", "https://example.org"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}


@pytest.fixture(scope="module")
def cors_client(store_folder: Path, serve: Callable) -> Iterator[httpx.Client]:
    with serve(store_folder, cors_origins=(ALLOWED,)) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "status"),
    [(f"{URL}/items/5", 200), (f"{URL}/items/100000", 404), (f"{URL}/export?what=items&format=csv", 200)],
)
def test_allowed_origin_may_read(cors_client: httpx.Client, path: str, status: int) -> None:
    reply = cors_client.get(path, headers={"Origin": ALLOWED})
    assert (reply.status_code, reply.headers["Access-Control-Allow-Origin"]) == (status, ALLOWED)
    exposed = {name.lower() for name in reply.headers["Access-Control-Expose-Headers"].split(", ")}
    assert {"etag", "graphkin-generation", "retry-after", "content-range"} <= exposed
    assert "Access-Control-Allow-Credentials" not in reply.headers


@pytest.mark.parametrize("headers", [{"Origin": OTHER}, {"Origin": "null"}, {"Origin": f"{ALLOWED}.example.com"}, {}])
def test_other_origins_may_not_read(cors_client: httpx.Client, headers: dict[str, str]) -> None:
    reply = cors_client.get(f"{URL}/items/5", headers=headers)
    assert reply.status_code == 200
    assert "Access-Control-Allow-Origin" not in reply.headers
    assert "Origin" in reply.headers["Vary"].split(", ")  # Caches must not give the reply for one origin to another.
    if headers:
        assert cors_client.options(f"{URL}/search", headers={**headers, **PREFLIGHT}).status_code == 400


def test_preflight_request_is_answered(cors_client: httpx.Client, client: httpx.Client) -> None:
    preflight = cors_client.options(f"{URL}/search", headers={"Origin": ALLOWED, **PREFLIGHT})
    assert (preflight.status_code, preflight.headers["Access-Control-Allow-Origin"]) == (200, ALLOWED)
    assert set(preflight.headers["Access-Control-Allow-Methods"].split(", ")) == {"GET", "HEAD", "POST"}
    assert cors_client.options(f"{URL}/search").status_code == 405
    # This server has no allowed origins.
    assert client.options(f"{URL}/search", headers={"Origin": ALLOWED, **PREFLIGHT}).status_code == 405


def test_star_allows_any_origin(store_folder: Path, serve: Callable) -> None:
    with serve(store_folder, cors_origins="*") as client:
        assert client.get(URL, headers={"Origin": OTHER}).headers["Access-Control-Allow-Origin"] == "*"
        assert client.get(URL, headers={"Origin": OTHER, "Host": "example.org"}).status_code == 400


@pytest.mark.parametrize(
    "origin", ["lab.example.org", f"{ALLOWED}/", f"{ALLOWED}/page", "null", "https://*.example.org", "file://x"]
)
def test_invalid_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInput, match="cors_origins") as refused:
        Settings(store="unused", cors_origins=f"{ALLOWED},{origin}")
    assert refused.value.given == origin
    assert "GRAPHKIN_CORS_ORIGINS in" in str(refused.value.hint)


def test_origins_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHKIN_CORS_ORIGINS", f"{ALLOWED}, HTTP://localhost:5173")
    assert Settings(store="unused").cors_origins == (ALLOWED, "http://localhost:5173")
