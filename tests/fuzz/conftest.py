"""A real server process over a store that was really ingested."""

import os
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fuzz.process import COMMAND, Watched
from tests.fuzz.store import build_store, placeholders


class Server(Watched):
    """`graphkin serve`."""

    def __enter__(self) -> "Server":
        super().__enter__()
        url = urlsplit(self.line().split()[1])
        self.address = (str(url.hostname), int(url.port or 0))
        while self.ask("/readyz")[0] == 503:  # kernels are still being compiled
            time.sleep(0.05)
        return self

    def ask(self, target: str) -> tuple[int, bytes]:
        """Status and body of a plain request."""
        connection = HTTPConnection(*self.address, timeout=60)
        try:
            connection.request("GET", target)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()


@pytest.fixture(scope="session")
def store_folder(nci_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus's store, as `tests.fuzz.store` builds it."""
    return build_store(tmp_path_factory.mktemp("fuzz"), nci_file)


@pytest.fixture(scope="session")
def server(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    environment = {
        **os.environ,
        "GRAPHKIN_CACHE_DIR": str(folder / "cache"),
        "GRAPHKIN_ALLOWED_HOSTS": "localhost,127.0.0.1",
    }
    # The requests do not change the store, which they all read.
    command: list[str | Path] = [COMMAND, "serve", "--store", store_folder, "--port", "0", "--no-writes"]
    with Server(command, folder / "log", env=environment, cwd=folder) as server:
        yield server


@pytest.fixture(scope="session")
def known(server: Server, store_folder: Path) -> dict[str, str]:
    """Values of the placeholders in the corpus's requests, by name: generations, and cursors of this server."""
    return placeholders(store_folder, lambda target: server.ask(target)[1])
