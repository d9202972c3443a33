import re
import threading
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.until import until_available

URL = "/v1/collections/nci"


def test_server_is_alive_and_becomes_ready(client: httpx.Client) -> None:
    assert client.get("/livez").json() == {"status": "alive"}
    while (reply := client.get("/readyz")).status_code == 503:  # The kernels are still being compiled.
        assert int(reply.headers["Retry-After"]) > 0
    assert reply.json() == {"status": "ready", "damaged": 0}


def test_missing_store_makes_the_server_unready_but_alive(own_folder: Path, serve: Callable) -> None:
    with serve(own_folder) as client:
        until_available(lambda: client.get("/readyz"))
        own_folder.rename(own_folder.with_name("elsewhere"))
        reply = client.get("/readyz")
        assert (reply.status_code, reply.headers["content-type"]) == (503, "application/problem+json")
        assert int(reply.headers["Retry-After"]) > 0
        assert client.get("/livez").status_code == 200


def request_counts(client: httpx.Client) -> dict[tuple[str, str, str], float]:
    """Return the number of requests by (method, route, status)."""
    pattern = r'graphkin_http_requests_total\{method="(.*)",route="(.*)",status="(.*)"\} (.*)'
    lines = (re.fullmatch(pattern, line) for line in client.get("/metrics").text.splitlines())
    return {(line[1], line[2], line[3]): float(line[4]) for line in lines if line}


def test_request_metrics_have_only_known_routes_and_methods(client: httpx.Client) -> None:
    before = request_counts(client)
    for id, method in enumerate(("COPY", "LOCK", "MKCOL", "MOVE", "PROPFIND")):
        client.get(f"{URL}/items/{id}")
        client.get(f"/made/up/{id}")
        client.request(method, f"{URL}/items/{id}")
    client.get(f"{URL}/items/5", headers={"Host": "example.org"})
    client.get(f"{URL}/items/abc")
    after = request_counts(client)
    grown = {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key)}
    route = "/v1/collections/{c}/items/{id}"
    assert grown.pop(("GET", "/metrics", "200")) == 1
    assert grown.pop(("GET", route, "200")) == 5
    assert grown.pop(("GET", route, "422")) == 1
    assert grown.pop(("GET", "none", "404")) == 5
    assert grown.pop(("GET", "none", "400")) == 1
    assert sum(grown.values()) == 5
    assert {method for method, _, _ in grown} == {"other"}


def test_request_metrics_have_latencies(client: httpx.Client) -> None:
    client.get(f"{URL}/items/5/neighbors")
    text = client.get("/metrics").text
    route = "/v1/collections/{c}/items/{id}/neighbors"
    assert f'graphkin_http_request_seconds_count{{method="GET",route="{route}"}}' in text
    assert client.get("/metrics", headers={"Accept": "application/openmetrics-text"}).text.endswith("# EOF\n")


def test_a_hundred_concurrent_requests_succeed(client: httpx.Client) -> None:
    expected = client.get(f"{URL}/items/5/neighbors").content
    replies: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: replies.append(client.get(f"{URL}/items/5/neighbors").content))
        for _ in range(100)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == [expected] * 100
