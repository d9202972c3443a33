"""Limits of a connection: bytes before authentication, slowness, and number of connections."""

import fcntl
import json
import socket
import termios
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from graphkin.protocol.keys import create_key
from graphkin.protocol.values import MAX_FIELD, MAX_HEAD, MAX_REQUEST_LINE
from graphkin.store import open_store
from tests.until import until

Serve = Callable[..., AbstractContextManager[httpx.Client]]
SHORT: dict[str, float] = {"head_seconds": 0.5, "body_seconds": 0.5, "idle_seconds": 5, "stalled_seconds": 0.5}
URL = "/v1/collections/nci"
HOST = b"Host: localhost\r\n"
LIVE = b"GET /livez HTTP/1.1\r\n" + HOST


class Reply(NamedTuple):
    status: int
    headers: httpx.Headers
    body: bytes


def connect(client: httpx.Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=60)


def unsent(connection: socket.socket) -> int:
    """Return the number of bytes that the server's machine has not acknowledged."""
    queued = array("i", [0])
    fcntl.ioctl(connection, termios.TIOCOUTQ, queued)
    return queued[0]


def replies(received: bytes) -> list[Reply]:
    """Return the replies in the received bytes. None of them is chunked."""
    parsed = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = httpx.Headers([(name, value) for name, _, value in (line.partition(": ") for line in lines)])
        length = int(headers.get("content-length", "0"))
        parsed.append(Reply(int(first.split()[1]), headers, rest[:length]))
        received = rest[length:]
    return parsed


def exchange(client: httpx.Client, *pieces: bytes) -> list[Reply]:
    """Return the replies to these bytes, up to the end of the connection."""
    with connect(client) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return replies(rest_of(connection))


def rest_of(connection: socket.socket) -> bytes:
    received = b""
    while data := connection.recv(65536):
        received += data
    return received


def problem(reply: Reply) -> dict[str, Any]:
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["x-request-id"]
    document: dict[str, Any] = json.loads(reply.body)
    assert document["status"] == reply.status
    return document


def post(path: str, *headers: str) -> bytes:
    head = [f"POST {URL}/{path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers]
    return "\r\n".join([*head, "", ""]).encode()


def in_pieces(request: bytes, size: int) -> list[bytes]:
    return [request[at : at + size] for at in range(0, len(request), size)]


def with_line(length: int) -> bytes:
    """Return a request with a header line of this many bytes, including its line end."""
    return LIVE + b"Connection: close\r\nX: %b\r\n\r\n" % (b"x" * (length - 5))


def with_head(length: int) -> bytes:
    """Return a request with a head of this many bytes, in lines that are short enough."""
    begin = LIVE + b"Connection: close\r\n"
    lines = [b"X: %b\r\n" % (b"x" * 995)] * ((length - len(begin) - 200) // 1000)
    rest = length - len(begin) - 1000 * len(lines) - 2
    return begin + b"".join(lines) + b"X: %b\r\n\r\n" % (b"x" * (rest - 5))


def with_target(length: int) -> bytes:
    """Return a request with a request line of this many bytes, including its line end."""
    line = b"GET /livez?%b HTTP/1.1\r\n"
    return line % (b"x" * (length - len(line) + 2)) + HOST + b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the access log of the server of `quick_client`."""
    return tmp_path_factory.mktemp("log") / "access.jsonl"


@pytest.fixture(scope="module")
def quick_client(store_folder: Path, log: Path, serve: Serve) -> Iterator[httpx.Client]:
    """Yield a client of a server with short timeouts."""
    with serve(store_folder, access_log=log, **SHORT) as client:
        yield client


@pytest.fixture
def guarded_client(own_folder: Path, serve: Serve) -> Iterator[httpx.Client]:
    """Yield a client, with a key, of a server that requires one."""
    secret, key = create_key("all", ["admin"])
    with open_store(own_folder) as store:
        store.keys().add(key)
    with serve(own_folder, **{**SHORT, "body_seconds": 3600}) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        yield client


@pytest.mark.parametrize("size", [700, 10_000, 1_000_000])
@pytest.mark.parametrize(
    ("build_request", "limit", "status"),
    [(with_line, MAX_FIELD, 431), (with_head, MAX_HEAD, 431), (with_target, MAX_REQUEST_LINE, 414)],
)
def test_head_size_is_limited_exactly(
    client: httpx.Client, build_request: Callable[[int], bytes], limit: int, status: int, size: int
) -> None:
    assert len(with_head(limit)) == limit
    (accepted,) = exchange(client, *in_pieces(build_request(limit), size))
    assert accepted.status == 200
    (refused,) = exchange(client, *in_pieces(build_request(limit + 1), size))
    assert problem(refused)["expected"].endswith(f"at most {limit} bytes")
    assert (refused.status, refused.headers["connection"]) == (status, "close")


def test_head_is_not_read_beyond_its_limit(client: httpx.Client) -> None:
    """The client receives the refusal although it continues to send."""
    (reply,) = exchange(client, LIVE, *[b"X: %b\r\n" % (b"x" * 10_000)] * 4800, b"\r\n")
    assert reply.status == 431


def test_trailers_are_limited_and_not_used_as_headers(client: httpx.Client) -> None:
    begin = post("search", "Transfer-Encoding: chunked", "Connection: close") + b'11\r\n{"smiles": "CCO"}\r\n0\r\n'
    (accepted,) = exchange(client, begin + b"Content-Type: text/plain\r\nHost: example.org\r\n\r\n")
    assert accepted.status == 200
    (refused,) = exchange(client, begin + b"X: %b" % (b"x" * 3 * MAX_FIELD))
    assert refused.status == 431


def test_structure_of_ten_kilobytes_is_read_from_a_url(client: httpx.Client) -> None:
    smiles = "C" * 9_990
    escaped = client.get(f"{URL}/structure?smiles={'%43' * len(smiles)}")
    assert escaped.json()["detail"] == client.post(f"{URL}/search", json={"smiles": smiles}).json()["detail"]


@pytest.mark.parametrize(
    ("sends", "statuses"),
    [
        ([], []),
        ([b"\r\n"], [408]),
        ([b"GET /li"], [408]),
        ([LIVE], [408]),
        ([LIVE + b"\r\n" + LIVE], [200, 408]),
        ([post("search", "Content-Length: 9"), b"{"], [408]),
        ([post("search", "Transfer-Encoding: chunked"), b"5\r\n{"], [408]),
        ([post("nowhere", "Content-Length: 9")], [404]),
    ],
    ids=["nothing", "newline", "request-line", "headers", "second-head", "body", "chunk", "body-not-read"],
)
def test_stalled_request_ends_at_its_deadline(
    quick_client: httpx.Client, sends: list[bytes], statuses: list[int]
) -> None:
    begin = time.monotonic()
    received = exchange(quick_client, *sends)
    assert time.monotonic() - begin > 0.45
    assert [reply.status for reply in received] == statuses
    if 408 in statuses:
        assert problem(received[-1])["detail"].endswith("did not arrive in time")
        assert received[-1].headers["retry-after"]


@pytest.mark.parametrize("begin", [LIVE + b"X: ", post("search", "Content-Length: 1000000")], ids=["head", "body"])
def test_deadline_is_not_extended_by_single_bytes(quick_client: httpx.Client, begin: bytes) -> None:
    with connect(quick_client) as connection:
        connection.sendall(begin)
        connection.settimeout(0.05)
        received = b""
        while not received:
            connection.sendall(b"x")
            try:
                received = connection.recv(65536)
            except TimeoutError:
                continue
    assert replies(received)[0].status == 408


def test_client_that_reads_nothing_is_disconnected(
    quick_client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    size = len(quick_client.get(f"{URL}/items?limit=1000", headers={"Accept-Encoding": "identity"}).content)
    list_request = f"GET {URL}/items?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((quick_client.base_url.host, quick_client.base_url.port or 80))
        connection.sendall(list_request * 100)
        until(lambda: closed_connections(quick_client, "reply") == 1)
        assert len(rest_of(connection)) < 100 * size
    assert not caplog.records


def test_slow_reader_receives_the_whole_reply(quick_client: httpx.Client) -> None:
    """The client reads a hundredth of the kernel's queue in the time after which one that reads nothing is
    disconnected.
    """
    list_request = f"GET {URL}/items?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    replies_before = closed_connections(quick_client, "reply")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((quick_client.base_url.host, quick_client.base_url.port or 80))
        connection.sendall(list_request * 100)
        begin = time.monotonic()
        while time.monotonic() - begin < 6 * SHORT["stalled_seconds"]:
            assert connection.recv(4096)
            time.sleep(0.02)  # Pace of this client.
    assert closed_connections(quick_client, "reply") == replies_before


def closed_connections(client: httpx.Client, reason: str) -> float:
    """Return how many connections the server has closed for this reason."""
    begin = f'graphkin_connections_closed_total{{reason="{reason}"}} '
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.removeprefix(begin)) for line in lines if line.startswith(begin))


def test_key_is_checked_before_the_body(guarded_client: httpx.Client) -> None:
    for key, statuses in (("", [401]), (f"Authorization: {guarded_client.headers['Authorization']}", [100, 200])):
        with connect(guarded_client) as connection:
            body = b'{"smiles": "CCO"}'
            request_headers = [f"Content-Length: {len(body)}", "Expect: 100-continue", "Connection: close", key]
            connection.sendall(post("search", *filter(None, request_headers)))
            first = connection.recv(65536)
            assert replies(first)[0].status == statuses[0]
            connection.sendall(body)
            received = replies(first + rest_of(connection))
        assert [reply.status for reply in received] == statuses


def test_rest_of_a_refused_body_counts_as_idle_time(own_folder: Path, serve: Serve) -> None:
    """A refusal may come before the end of the body. After the body, the connection is closed like any idle one."""
    with open_store(own_folder) as store:
        store.keys().add(create_key("all", ["admin"])[1])
    with serve(own_folder, **{**SHORT, "idle_seconds": 0.2}) as client, connect(client) as connection:
        connection.sendall(post("search", "Content-Length: 4") + b"ab")
        first = connection.recv(65536)
        connection.sendall(b"cd")
        received = replies(first + rest_of(connection))
    assert [reply.status for reply in received] == [401]


def test_refused_slow_bodies_make_room_for_new_connections(own_folder: Path, serve: Serve) -> None:
    with open_store(own_folder) as store:
        store.keys().add(create_key("all", ["admin"])[1])
    with serve(own_folder, connections=3) as client, ExitStack() as open_connections:
        for _ in range(3):
            connection = open_connections.enter_context(connect(client))
            connection.sendall(post("search", "Content-Length: 4") + b"a")
            assert replies(connection.recv(65536))[0].status == 401
        assert exchange(client, LIVE + b"Connection: close\r\n\r\n")[0].status == 200


def test_chunk_may_arrive_after_its_length(client: httpx.Client) -> None:
    body = b'{"smiles": "CCO"}'.ljust(32 * 1024)
    sends = [post("search", "Transfer-Encoding: chunked", "Connection: close"), b"8000", b"\r\n" + body]
    with connect(client) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in sends:
            connection.sendall(piece)
            until(lambda: not unsent(connection))
        connection.sendall(b"\r\n0\r\n\r\n")
        (reply,) = replies(rest_of(connection))
    assert reply.status == 200


def test_sending_client_receives_the_whole_refusal(guarded_client: httpx.Client) -> None:
    reply = httpx.post(
        guarded_client.base_url.join(f"{URL}/search"),
        content=b"x" * 2**21,
        headers={"Content-Type": "application/json", "Connection": "close"},
        timeout=60,
    )
    assert (reply.status_code, reply.json()["title"]) == (401, "No valid key")


@pytest.mark.parametrize("upgrade", ["websocket", "h2c"])
def test_protocol_upgrade_is_ignored(client: httpx.Client, caplog: pytest.LogCaptureFixture, upgrade: str) -> None:
    headers = ["Connection: Upgrade, HTTP2-Settings", f"Upgrade: {upgrade}", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"]
    body = b'{"smiles": "CCO"}'
    chunked = post("search", *headers, "Transfer-Encoding: chunked") + b"11\r\n" + body + b"\r\n0\r\n\r\n"
    whole = post("search", *headers, f"Content-Length: {len(body)}") + body
    plain = "\r\n".join(["GET /livez HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()
    received = exchange(client, plain + chunked + whole + LIVE + b"Connection: close\r\n\r\n")
    assert [reply.status for reply in received] == [200, 200, 200, 200]
    assert [json.loads(each.body)["query"]["smiles"] for each in received[1:3]] == ["CCO", "CCO"]
    assert not caplog.records


@pytest.mark.parametrize(
    "coding", ["gzip, chunked", "gzip,chunked", "gzip\r\nTransfer-Encoding: chunked", "chunked, gzip"]
)
def test_other_transfer_codings_are_refused(client: httpx.Client, coding: str) -> None:
    body = b'11\r\n{"smiles": "CCO"}\r\n0\r\n\r\n'
    reply, *_ = exchange(client, post("search", f"Transfer-Encoding: {coding}", "Connection: close") + body)
    assert (reply.status, problem(reply)["title"]) == (400, "Malformed request")


def test_conflicting_body_lengths_are_refused(client: httpx.Client) -> None:
    body = b'11\r\n{"smiles": "CCO"}\r\n0\r\n\r\n'
    for headers in (["Content-Length: 17", "Transfer-Encoding: chunked"], ["Content-Length: 17", "Content-Length: 18"]):
        for each in (headers, headers[::-1]):
            (reply,) = exchange(client, post("search", *each) + body)
            assert (reply.status, problem(reply)["title"]) == (400, "Malformed request")


def test_malformed_requests_are_logged_without_warnings(
    quick_client: httpx.Client, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    requests = [b"nonsense\r\n\r\n", LIVE + b"X\r\n\r\n", with_line(MAX_FIELD + 1), with_target(MAX_REQUEST_LINE + 1)]
    requests += [b"CONNECT localhost:80 HTTP/1.1\r\n\r\n", post("search", "Transfer-Encoding: chunked") + b"xyz\r\n"]
    received = [reply for request in requests for reply in exchange(quick_client, request)]
    assert [reply.status for reply in received] == [400, 400, 431, 414, 400, 400]
    ids = [reply.headers["x-request-id"] for reply in received]
    until(lambda: all(id in log.read_text() for id in ids))
    lines = {line["id"]: line for line in map(json.loads, log.read_text().splitlines())}
    assert [(lines[id]["method"], lines[id]["status"]) for id in ids] == [
        ("-", 400),
        ("GET", 400),
        ("GET", 431),
        ("-", 414),
        ("CONNECT", 400),
        ("POST", 400),
    ]
    assert not caplog.records


def test_connection_queues_at_most_a_hundred_requests(client: httpx.Client) -> None:
    body = b'{"smiles": "CCO"}'
    for each in (LIVE + b"\r\n", post("search", f"Content-Length: {len(body)}") + body):
        received = exchange(client, each * 1000)
        assert {reply.status for reply in received} == {200}
        assert 100 <= len(received) <= 101
        assert received[-1].headers["connection"] == "close"


def test_longest_idle_connection_is_closed_for_a_new_one(store_folder: Path, serve: Serve) -> None:
    with serve(store_folder, connections=3) as client, ExitStack() as open_connections:
        idle = [open_connections.enter_context(connect(client)) for _ in range(3)]
        assert exchange(client, LIVE + b"Connection: close\r\n\r\n")[0].status == 200
        assert rest_of(idle[0]) == b""
        assert client.get("/livez").status_code == 200
        assert closed_connections(client, "limit") >= 1


@pytest.mark.parametrize(("bound", "status"), [({"connections": 3}, 503), ({"connections_per_address": 3}, 429)])
def test_connection_above_the_limit_is_refused(
    store_folder: Path, serve: Serve, bound: dict[str, int], status: int
) -> None:
    with serve(store_folder, **bound) as client, ExitStack() as open_connections:
        for _ in range(3):
            connection = open_connections.enter_context(connect(client))
            connection.sendall(post("search", "Content-Length: 2", "Expect: 100-continue"))
            connection.recv(65536)  # The server is now waiting for the body.
        (reply,) = exchange(client, LIVE + b"\r\n")
        assert (reply.status, reply.headers["retry-after"]) == (status, "1")
        assert "at most 3 open connections" in problem(reply)["expected"]
