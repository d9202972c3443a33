"""Faults of ours and of the disk, met by the real application."""

import logging
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from api.app import create_app
from api.settings import Settings

URL = "/v1/collections/nci"


@contextmanager
def serving(app: FastAPI) -> Iterator[httpx.Client]:
    import socket

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


def test_a_bug_is_a_500_whose_id_is_in_the_log_and_whose_traceback_is_not_in_the_reply(
    store_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(Settings(store=store_folder, cache_dir=tmp_path))

    @app.get("/v1/bug")
    def bug() -> None:
        raise ZeroDivisionError("a secret")

    with serving(app) as client, caplog.at_level(logging.ERROR):
        reply = client.get("/v1/bug")
        assert (reply.status_code, reply.headers["content-type"]) == (500, "application/problem+json")
        assert "secret" not in reply.text
        assert "ZeroDivisionError" not in reply.text
        number = re.fullmatch("urn:uuid:(.*)", reply.json()["instance"]).group(1)
        (record,) = [record for record in caplog.records if number in record.getMessage()]
        assert record.exc_info[0] is ZeroDivisionError
        assert 'route="/v1/bug",status="500"' in client.get("/metrics").text
        assert client.get(f"{URL}/items/5").status_code == 200


def test_a_failure_in_mid_stream_cuts_the_connection(own_store: Path, serve: Callable, publish: Callable) -> None:
    """A damaged page of the item table, behind those that the first piece is read from."""
    generation = publish(own_store, "alkanes", [f"{'C' * 400} {'name' * 60}{n}" for n in range(1)] + many_names(9000))
    file = own_store / "collections" / "alkanes" / generation / "items.sqlite"
    content = file.read_bytes()
    half = len(content) // 2
    file.write_bytes(content[:half] + b"\xff" * (len(content) - half))
    with serve(own_store) as client:
        received = b""
        with (
            client.stream("GET", "/v1/collections/alkanes/export?what=items&format=csv") as reply,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            assert reply.status_code == 200
            for piece in reply.iter_bytes():
                received += piece
        assert received.startswith(b"id,smiles,names")
        assert client.get("/livez").status_code == 200
