"""A user and password in the server's address, for a proxy with authentication that stands before it; and keys."""

import logging
import socket
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from graphkin.protocol.errors import Forbidden, GraphkinError, InvalidInput, Unauthorized, Unavailable
from graphkin.protocol.keys import create_key
from graphkin.store import open_store

USER, PASSWORD = "ann", "only-for-this-test"


class Gate(BaseHTTPRequestHandler):
    """Refuses everybody, and notes what they say of themselves."""

    seen: list[str | None]

    def do_GET(self) -> None:
        self.seen.append(self.headers["Authorization"])
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def gate() -> Iterator[HTTPServer]:
    Gate.seen = []
    with HTTPServer(("127.0.0.1", 0), Gate) as server:
        Thread(target=server.serve_forever).start()
        yield server
        server.shutdown()


def failed(connect: Any, url: str, kind: type[GraphkinError]) -> str:
    """All that is said of it, the client included."""
    with connect(url) as server, pytest.raises(kind) as error:
        server.collections()
    return f"{server!r} {error.value} {error.value!r} {error.value.given}"


def test_they_are_sent_and_never_shown(connect: Any, gate: HTTPServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    here = f"127.0.0.1:{gate.server_port}"
    said = failed(connect, f"http://{USER}:{PASSWORD}@{here}", Forbidden)
    assert Gate.seen == [f"Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"]
    assert f"http://{here}/openapi.json" in said
    assert f"http://{here}/openapi.json" in caplog.text
    assert PASSWORD not in said + caplog.text


def test_nor_where_nobody_answers(connect: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        here = f"127.0.0.1:{free.getsockname()[1]}"
    said = failed(connect, f"http://{USER}:{PASSWORD}@{here}", Unavailable)
    assert here in said
    assert PASSWORD not in said


@pytest.mark.parametrize("url", [f"ftp://{USER}:{PASSWORD}@nowhere", f"http://{USER}:{PASSWORD}@nowhere:port"])
def test_nor_of_what_is_no_address(connect: Any, url: str) -> None:
    with pytest.raises(InvalidInput) as error:
        connect(url)
    assert "nowhere" in str(error.value)
    assert PASSWORD not in str(error.value)


@pytest.fixture
def guarded(tmp_path: Path, serve: Any) -> Iterator[tuple[str, str]]:
    """A server that asks for keys, and one to read with."""
    secret, key = create_key("a", ["read"], ["one"])
    with open_store(tmp_path / "store", create=True) as store:
        store.keys().add(key)
    with serve(tmp_path / "store") as url:
        yield url, secret


def test_key_is_sent_and_never_shown(
    connect: Any, guarded: tuple[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url, secret = guarded
    with connect(url, key=secret) as server:
        assert server.collections() == []
        with pytest.raises(Forbidden) as other:
            server.collection("two")
        with pytest.raises(Forbidden):
            server.metrics()
    monkeypatch.setenv("GRAPHKIN_API_KEY", f"{secret}\n")
    with connect(url) as server:
        assert server.collections() == []
        shown = repr(server)
    monkeypatch.setenv("GRAPHKIN_API_KEY", "gk_wrong")
    with connect(url, key=secret) as server:  # what is given comes first
        assert server.collections() == []
    with connect(url) as server, pytest.raises(Unauthorized) as wrong:
        server.collections()
    monkeypatch.delenv("GRAPHKIN_API_KEY")
    with connect(url) as server, pytest.raises(Unauthorized, match="asks for a key") as none:
        server.collections()
    said = f"{other.value!r} {other.value} {wrong.value} {none.value} {shown} {caplog.text}"
    assert secret not in said
    assert "gk_wrong" not in said


def test_what_can_be_no_key_is_refused_and_not_shown(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("two words", "gk_\xe9", "a\nb", ""):
        with pytest.raises(InvalidInput) as error:
            connect("http://127.0.0.1:1", key=key)
        assert not key or key not in str(error.value)
    with pytest.raises(InvalidInput, match="one of them"):
        connect(f"http://{USER}:{PASSWORD}@nowhere", key="gk_a")
    monkeypatch.setenv("GRAPHKIN_API_KEY", "gk_a")
    connect(f"http://{USER}:{PASSWORD}@nowhere").close()
