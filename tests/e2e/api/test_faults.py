"""Internal errors and disk damage behind the real application."""

import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from graphkin.api.app import create_app
from graphkin.api.settings import Settings

URL = "/v1/collections/nci"


@contextmanager
def serving(app: FastAPI) -> Iterator[httpx.Client]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def test_internal_error_returns_500_with_an_id_and_logs_the_traceback(
    store_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(Settings(store=store_folder, cache_dir=tmp_path))

    @app.get("/v1/bug")
    def bug() -> None:
        raise ZeroDivisionError("a secret")

    with serving(app) as client, caplog.at_level(logging.ERROR):
        reply = client.get("/v1/bug")
        assert (reply.status_code, reply.headers["content-type"]) == (500, "application/problem+json")
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert "secret" not in reply.text
        assert "ZeroDivisionError" not in reply.text
        number = re.fullmatch("urn:uuid:(.*)", reply.json()["instance"])
        assert number is not None
        (record,) = [record for record in caplog.records if number[1] in record.getMessage()]
        assert record.exc_info is not None
        assert record.exc_info[0] is ZeroDivisionError
        assert 'route="/v1/bug",status="500"' in client.get("/metrics").text
        assert client.get(f"{URL}/items/5").status_code == 200


def test_failure_in_mid_stream_cuts_the_connection(own_folder: Path, serve: Callable, publish_graphs: Callable) -> None:
    """Pages of the item table that are read after the first piece was sent are damaged after the file's check."""
    generation = publish_graphs(own_folder, "large", [f"{n} {'name' * 50}" for n in range(20_000)])
    file = own_folder / "collections" / "large" / generation / "items.arrow"
    content = file.read_bytes()
    damaged = range(len(content) * 2 // 3, len(content) * 5 // 6)
    with serve(own_folder) as client:
        export = "/v1/collections/large/export"
        assert client.post(export, json={"what": "items", "format": "csv", "ids": [0]}).status_code == 200
        file.write_bytes(content[: damaged.start] + b"\xff" * len(damaged) + content[damaged.stop :])
        with client.stream("GET", f"{export}?what=items&format=csv") as reply:
            assert reply.status_code == 200
            pieces = reply.iter_bytes()
            assert next(pieces).startswith(b"id,structure,names")
            with pytest.raises(httpx.RemoteProtocolError):
                list(pieces)
        assert client.get("/livez").status_code == 200
