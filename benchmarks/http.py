"""Request rate of the API, compared with a bare FastAPI route that returns as many bytes.

    python -m benchmarks.http [--molecules 20000] [--requests 2000] [--blocks 4]

The API and the bare application run as two server processes with the same uvicorn settings. One keep-alive client
sends requests to them in alternating blocks (ABBA), for a different item each time. The bare route is an `async def`
that returns a prepared Response.
"""

import argparse
import http.client
import json
import multiprocessing
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI, Request, Response

from benchmarks.data import molecules, smiles_file
from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

_ARROW = "application/vnd.apache.arrow.stream"
Ask = tuple[str, str, str | None, dict[str, str]]  # method, path, body, headers


def bare_app() -> FastAPI:
    """Return an application whose route /bare?size=N returns N prepared bytes."""
    app = FastAPI()
    bodies: dict[int, bytes] = {}

    @app.api_route("/bare", methods=["GET", "POST"])
    async def bare(request: Request, size: int) -> Response:
        await request.body()
        if size not in bodies:
            bodies[size] = b"x" * size
        return Response(bodies[size], media_type="application/json")

    return app


def _serve(make: Callable[[], FastAPI], listening: socket.socket) -> None:
    server = uvicorn.Server(uvicorn.Config(make(), log_level="warning", access_log=False))
    server.run(sockets=[listening])


@contextmanager
def served(make: Callable[[], FastAPI]) -> Iterator[http.client.HTTPConnection]:
    """Serve an application in a process of its own, and yield a connection to it."""
    listening = socket.create_server(("127.0.0.1", 0))
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(make, listening), daemon=True)
    process.start()
    connection = http.client.HTTPConnection("127.0.0.1", listening.getsockname()[1], timeout=120)
    listening.close()
    try:
        yield connection
    finally:
        connection.close()
        process.terminate()
        process.join()


class NotYet(RuntimeError):
    """The server is not ready for the request. The message is its progress."""


def reply(connection: http.client.HTTPConnection, ask: Ask) -> bytes:
    method, path, body, headers = ask
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status == 503:
        raise NotYet(content.decode())
    if answer.status != 200:
        raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
    return content


def block(connection: http.client.HTTPConnection, asks: list[Ask]) -> float:
    """Send all requests one after the other, and return the seconds."""
    begin = time.perf_counter()
    for ask in asks:
        reply(connection, ask)
    return time.perf_counter() - begin


def compare(
    label: str,
    ours: http.client.HTTPConnection,
    bare: http.client.HTTPConnection,
    asks: list[Ask],
    blocks: int,
    per: int,
) -> None:
    """Print our rate, the bare route's, and the median ratio of the blocks. Each request returns `per` answers."""
    size = int(statistics.mean(len(reply(ours, ask)) for ask in asks))  # warms up as well
    plain: list[Ask] = [(method, f"/bare?size={size}", body, headers) for method, _, body, headers in asks]
    block(bare, plain[:100])
    times: list[tuple[float, float]] = []
    for number in range(blocks):
        pair = [(0, ours, asks), (1, bare, plain)]
        measured = dict.fromkeys((0, 1), 0.0)
        for side, connection, requests in pair if number % 2 == 0 else reversed(pair):
            measured[side] = block(connection, requests)
        times.append((measured[0], measured[1]))
    rate, floor = (per * len(asks) / statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(bare_time / our_time for our_time, bare_time in times)
    print(f"  {label:44} {size:9,} B {rate:12,.0f}/s {floor:12,.0f}/s   {ratio:5.2f} as fast")


def positives_asks(base: str, size: int, requests: int, items: int, random: np.random.Generator) -> list[Ask]:
    headers = {"Content-Type": "application/json", "Accept": _ARROW}
    return [
        (
            "POST",
            f"{base}/positives/batch",
            json.dumps({"ids": random.integers(0, items, size).tolist(), "policy": "random_walk", "seed": number}),
            headers,
        )
        for number in range(requests)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--threshold", type=float, default=0.3, help="low, for degrees as large collections have them")
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--blocks", type=int, default=4)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        label, path = smiles_file(Path(folder), options.molecules)
        with open_store(Path(folder) / "store", create=True) as store:
            manifest = ingest(store, "benchmark", [str(path)], resolve(threshold=options.threshold))
        items = manifest.counts.kept
        settings: dict[str, Any] = {"store": Path(folder) / "store", "cache_dir": Path(folder) / "cache"}
        base = "/v1/collections/benchmark"
        with served(lambda: create_app(Settings(**settings))) as ours, served(bare_app) as bare:
            wait(ours)
            print(f"{label}, mean degree {2 * manifest.edges / items:.1f}; ours, bare route, ratio")
            ids = random.integers(0, items, options.requests)
            near: list[Ask] = [("GET", f"{base}/items/{id}/neighbors?limit=50", None, {}) for id in ids]
            compare("neighbours of one item, 50 at most", ours, bare, near, options.blocks, 1)
            queries = [line.split()[0] for line in molecules(options.molecules)[1]][: options.requests // 10]
            json_headers = {"Content-Type": "application/json"}
            searches: list[Ask] = [
                ("POST", f"{base}/search", json.dumps({"smiles": smiles, "limit": 10}), json_headers)
                for smiles in queries
            ]
            compare("search, top 10 of the whole collection", ours, bare, searches, options.blocks, 1)
            for size in (256, 1024, 4096):
                asks = positives_asks(base, size, max(options.requests * 64 // size, 10), items, random)
                compare(f"positive sets, Arrow, batches of {size}", ours, bare, asks, options.blocks, size)


def wait(connection: http.client.HTTPConnection) -> None:
    """Wait until the server is ready, which includes compilation."""
    for _ in range(600):
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        answer.read()
        if answer.status == 200:
            return
        time.sleep(0.1)
    raise RuntimeError("the server does not become ready")


if __name__ == "__main__":
    main()
