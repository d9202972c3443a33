"""Starting `graphkin` as a child process, from this checkout or another."""

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.data import smiles_file

Address = tuple[str, int]

OWN = Path(__file__).parents[1]
"""This checkout."""
COLLECTION = "load"
"""Name of the collection that `stored` creates."""
_PATIENCE = 30  # seconds that a server may take to end


def graphkin(*arguments: str | Path) -> list[str]:
    """Return the command line with these arguments."""
    return [sys.executable, "-m", "graphkin", *map(str, arguments)]


def free_port() -> int:
    """Return a port of this machine without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def build_store(tree: Path, cache: Path, count: int, *options: str) -> Path:
    """Return a store of `count` molecules created by a checkout. It is reused from the cache if it exists."""
    store = cache / "-".join([tree.name, str(count), *(option.strip("-") for option in options)])
    if not store.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            label, path = smiles_file(Path(folder), count)
            print(f"ingesting {label}", file=sys.stderr)
            draft = Path(folder) / "store"
            command = graphkin("ingest", "molecules", path, "--store", draft, "--collection", COLLECTION, *options)
            subprocess.run(command, check=True, stdout=sys.stderr, cwd=tree, env=_environment(tree))
            draft.rename(store)
    return store


@contextmanager
def served(tree: Path, store: Path | str, *options: str) -> Iterator[tuple[Address, int]]:
    """Serve a store (a folder or the URL of a Neo4j server) with a checkout.

    Yield address and process id once ready.
    """
    address = ("127.0.0.1", free_port())
    with tempfile.TemporaryDirectory() as cache:
        command = graphkin("serve", "--store", store, "--port", str(address[1]), *options)
        environment = {**_environment(tree), "GRAPHKIN_CACHE_DIR": cache}
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tree, env=environment) as process:
            try:
                assert process.stdout is not None
                process.stdout.readline()  # printed when all its processes listen
                while not ready(address):
                    if process.poll() is not None:
                        raise RuntimeError(f"the server ended; if {store} is of another format, delete it")
                    time.sleep(0.1)
                yield address, process.pid
            finally:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_PATIENCE)
                process.kill()


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree)}


def ready(address: Address) -> bool:
    """Return whether the server reports on a new connection that it is ready."""
    connection = http.client.HTTPConnection(*address, timeout=120)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:  # the server does not listen yet
        return False
    finally:
        connection.close()
