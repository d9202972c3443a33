"""A user and password in the server's address, for a proxy with authentication that stands before it."""

import logging
import socket
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from graphkin.protocol.errors import GraphkinError, InvalidInput, ServerFault, Unavailable

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
    said = failed(connect, f"http://{USER}:{PASSWORD}@{here}", ServerFault)
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
