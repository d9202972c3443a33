"""Credentials of the client: keys, and user and password in the URL for a proxy with authentication."""

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


class RefusingServer(BaseHTTPRequestHandler):
    """Refuses every request and records its Authorization header."""

    headers_seen: list[str | None]

    def do_GET(self) -> None:
        self.headers_seen.append(self.headers["Authorization"])
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Suppress the log."""


@pytest.fixture
def refusing_server() -> Iterator[HTTPServer]:
    RefusingServer.headers_seen = []
    with HTTPServer(("127.0.0.1", 0), RefusingServer) as server:
        Thread(target=server.serve_forever).start()
        yield server
        server.shutdown()


def error_text(connect: Any, url: str, kind: type[GraphkinError]) -> str:
    """Return every text about the error and the client."""
    with connect(url) as server, pytest.raises(kind) as error:
        server.collections()
    return f"{server!r} {error.value} {error.value!r} {error.value.given}"


def test_password_is_sent_and_never_shown(
    connect: Any, refusing_server: HTTPServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    address = f"127.0.0.1:{refusing_server.server_port}"
    output = error_text(connect, f"http://{USER}:{PASSWORD}@{address}", Forbidden)
    assert RefusingServer.headers_seen == [f"Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"]
    assert f"http://{address}/openapi.json" in output
    assert f"http://{address}/openapi.json" in caplog.text
    assert PASSWORD not in output + caplog.text


def test_password_is_not_shown_if_the_server_is_unreachable(connect: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    text = error_text(connect, f"http://{USER}:{PASSWORD}@{address}", Unavailable)
    assert address in text
    assert PASSWORD not in text


@pytest.mark.parametrize("url", [f"ftp://{USER}:{PASSWORD}@nowhere", f"http://{USER}:{PASSWORD}@nowhere:port"])
def test_password_is_not_shown_if_the_url_is_invalid(connect: Any, url: str) -> None:
    with pytest.raises(InvalidInput) as error:
        connect(url)
    assert "nowhere" in str(error.value)
    assert PASSWORD not in str(error.value)


@pytest.fixture
def guarded_server(tmp_path: Path, serve: Any) -> Iterator[tuple[str, str]]:
    """Yield the URL of a server that requires keys, and the secret of a key to read."""
    secret, key = create_key("a", ["read"], ["one"])
    with open_store(tmp_path / "store", create=True) as store:
        store.keys().add(key)
    with serve(tmp_path / "store") as url:
        yield url, secret


def test_key_is_sent_and_never_shown(
    connect: Any, guarded_server: tuple[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url, secret = guarded_server
    with connect(url, key=secret) as server:
        assert server.collections() == []
        with pytest.raises(Forbidden) as other:
            server.collection("two")
        with pytest.raises(Forbidden):
            server.metrics()
    monkeypatch.setenv("GRAPHKIN_API_KEY", f"{secret}\n")
    with connect(url) as server:
        assert server.collections() == []
        representation = repr(server)
    monkeypatch.setenv("GRAPHKIN_API_KEY", "gk_wrong")
    with connect(url, key=secret) as server:  # An argument precedes the environment.
        assert server.collections() == []
    with connect(url) as server, pytest.raises(Unauthorized) as wrong:
        server.collections()
    monkeypatch.delenv("GRAPHKIN_API_KEY")
    with connect(url) as server, pytest.raises(Unauthorized, match="requires a key") as none:
        server.collections()
    text = f"{other.value!r} {other.value} {wrong.value} {none.value} {representation} {caplog.text}"
    assert secret not in text
    assert "gk_wrong" not in text


def test_invalid_key_is_refused_and_not_shown(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("two words", "gk_\xe9", "a\nb", ""):
        with pytest.raises(InvalidInput) as error:
            connect("http://127.0.0.1:1", key=key)
        assert not key or key not in str(error.value)
    with pytest.raises(InvalidInput, match="one of them"):
        connect(f"http://{USER}:{PASSWORD}@nowhere", key="gk_a")
    monkeypatch.setenv("GRAPHKIN_API_KEY", "gk_a")
    connect(f"http://{USER}:{PASSWORD}@nowhere").close()
