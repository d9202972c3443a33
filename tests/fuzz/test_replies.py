"""`tests.rigs.replies` over a few requests: a server agrees with itself, and not with one whose replies are altered."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.fuzz.conftest import Server
from tests.fuzz.exchange import exchange
from tests.fuzz.requests import Request
from tests.integration.proxy import Proxy
from tests.rigs.replies import Side, compare
from tests.rigs.valid_requests import valid_requests

ITEM = Request("item", "GET", "/v1/collections/nci/items/3")


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    host, port = server.address
    proxy = Proxy(f"http://{host}:{port}")
    yield proxy
    proxy.close()


def test_a_server_agrees_with_itself(server: Server, store_folder: Path) -> None:
    side = Side(server.address, store_folder)
    result = compare(side, side, [*valid_requests(["nci"])][::31])
    assert (result.different, result.unsteady) == ([], [])
    assert {status[0] for status in result.statuses} >= {"2", "4"}
    assert ("GET", "/v1/collections/{c}/export") in result.answered


def _replace(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda piece: piece.replace(old, new)


@pytest.mark.parametrize(
    "alter",
    [
        _replace(b"200 OK", b"203 OK"),
        _replace(b"no-cache", b"no-store"),
        _replace(b"date:", b"dare:"),
        _replace(b'"id":3', b'"id":4'),
    ],
    ids=["status", "header", "header-name", "body"],
)
def test_one_byte_is_a_difference(
    server: Server,
    store_folder: Path,
    proxy: Proxy,
    alter: Callable[[bytes], bytes],
    capsys: pytest.CaptureFixture[str],
) -> None:
    other, ours = Side(("127.0.0.1", proxy.port), store_folder), Side(server.address, store_folder)
    assert compare(other, ours, [ITEM]).different == []
    proxy.rewrite = alter
    assert compare(other, ours, [ITEM]).different == ["item"]
    assert f"item: GET {ITEM.target}" in capsys.readouterr().out


def test_a_reply_that_differs_once_is_unsteady(server: Server, store_folder: Path, proxy: Proxy) -> None:
    other, ours = Side(("127.0.0.1", proxy.port), store_folder), Side(server.address, store_folder)
    pieces = iter([b"203 OK"])
    proxy.rewrite = lambda piece: piece.replace(b"200 OK", next(pieces, b"200 OK")) if b"200 OK" in piece else piece
    result = compare(other, ours, [ITEM])
    assert (result.different, result.unsteady, result.answered) == ([], ["item"], set())


def test_an_endless_reply_is_cut() -> None:
    """Each piece of it comes in time."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while True:
                    connection.sendall(b"1\r\nx\r\n")
                    time.sleep(0.01)

        dripping = threading.Thread(target=drip)
        dripping.start()
        with pytest.raises((OSError, HTTPException)):
            exchange(listening.getsockname(), b"GET / HTTP/1.1\r\n\r\n", longest=0.2)
        dripping.join()
