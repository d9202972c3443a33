"""Requests that are refused before the application sees them, in raw bytes where clients would correct them."""

import json
import re
import socket
from typing import Any

import httpx
import pytest

from tests.until import until

URL = "/v1/collections/nci"


def exchange(client: httpx.Client, request: bytes) -> tuple[int, dict[str, Any]]:
    """Return status and JSON of the reply to exactly these bytes."""
    with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=30) as connection:
        connection.sendall(request)
        reply = b""
        while b"\r\n\r\n" not in reply:
            reply += connection.recv(65536)
        head, _, body = reply.partition(b"\r\n\r\n")
        length = int(
            next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")).split(b":")[1]
        )
        while len(body) < length:
            body += connection.recv(65536)
    return int(head.split()[1]), json.loads(body[:length])


def post(body: bytes, *headers: str) -> bytes:
    head = ["POST /v1/collections/nci/search HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "localhost:8000", "LOCALHOST:1", "[::1]:80"])
def test_loopback_hosts_are_accepted(client: httpx.Client, host: str) -> None:
    assert client.get("/livez", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["example.org", "localhost.example.org", "127.0.0.2", "[::2]:80", "localhost:x", "::1", ""]
)
def test_other_hosts_are_refused(client: httpx.Client, host: str) -> None:
    for path in ("/livez", f"{URL}/items/5", "/nowhere", "/docs"):
        reply = client.get(path, headers={"Host": host})
        assert (reply.status_code, reply.headers["content-type"]) == (400, "application/problem+json")
        assert reply.json()["given"] == host


def test_two_hosts_are_refused(client: httpx.Client) -> None:
    request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: example.org\r\n\r\n"
    assert exchange(client, request)[0] == 400
    assert exchange(client, b"GET /livez HTTP/1.0\r\n\r\n")[0] == 400


def test_body_of_a_hundred_megabytes_is_refused(client: httpx.Client) -> None:
    reply = client.post(f"{URL}/search", content=b"x" * 100_000_000, headers={"Content-Type": "application/json"})
    assert (reply.status_code, reply.headers["content-type"]) == (413, "application/problem+json")
    assert reply.json()["expected"] == "at most 2097152 bytes"
    assert client.get("/livez").status_code == 200


def test_chunked_body_of_a_hundred_megabytes_is_refused(client: httpx.Client) -> None:
    pieces = (b"x" * 1_000_000 for _ in range(100))
    reply = client.post(f"{URL}/search", content=pieces, headers={"Content-Type": "application/json"})
    assert (reply.status_code, reply.headers["content-type"]) == (413, "application/problem+json")


def test_unknown_route_does_not_read_the_body(client: httpx.Client) -> None:
    assert client.post(f"{URL}/nowhere", content=iter([b" " * (2 * 2**20 + 1)])).status_code == 404


@pytest.mark.parametrize("route", ["search", "positives/batch", "export"])
def test_body_limit_is_exactly_two_mebibytes(client: httpx.Client, route: str) -> None:
    headers = {"Content-Type": "application/json"}
    for size, refused in ((2 * 2**20, False), (2 * 2**20 + 1, True)):
        for content in (b" " * size, iter([b" " * size])):
            reply = client.post(f"{URL}/{route}", content=content, headers=headers)
            assert (reply.status_code == 413) is refused


def test_body_ends_at_its_content_length(client: httpx.Client) -> None:
    body = b'{"smiles": "CCO"}'
    next_request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    status, reply = exchange(client, post(body + next_request, f"Content-Length: {len(body)}"))
    assert (status, reply["query"]["smiles"]) == (200, "CCO")


def test_short_body_does_not_harm_the_server(client: httpx.Client) -> None:
    with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=30) as connection:
        connection.sendall(post(b'{"smiles"', "Content-Length: 500"))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(65536)
    assert client.get("/livez").status_code == 200


@pytest.mark.parametrize("route", ["search", "positives/batch", "export"])
@pytest.mark.parametrize("headers", ["Content-Length: 500", "Transfer-Encoding: chunked"])
def test_client_that_disconnects_while_sending_is_no_server_error(
    client: httpx.Client, caplog: pytest.LogCaptureFixture, route: str, headers: str
) -> None:
    def bad_requests() -> int:
        counts = re.findall(r'graphkin_http_requests_total\{.*status="400"\} (\S+)', client.get("/metrics").text)
        return int(sum(map(float, counts)))

    before = bad_requests()
    with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=30) as connection:
        connection.sendall(post(b'8\r\n{"smiles', headers).replace(b"/search", f"/{route}".encode()))
    until(lambda: bad_requests() > before)
    assert not caplog.records


def test_huge_content_length_is_refused_before_the_body(client: httpx.Client) -> None:
    assert exchange(client, post(b"{", "Content-Length: 100000000"))[0] == 413


def test_chunked_body_counts_against_the_limit(client: httpx.Client) -> None:
    chunk = b"100000\r\n" + b" " * 2**20 + b"\r\n"
    assert exchange(client, post(chunk * 3 + b"0\r\n\r\n", "Transfer-Encoding: chunked"))[0] == 413
    small = b'11\r\n{"smiles": "CCO"}\r\n0\r\n\r\n'
    assert exchange(client, post(small, "Transfer-Encoding: chunked"))[0] == 200
