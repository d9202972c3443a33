"""Neo4j store: loading, appending and deleting, positive sets by its engines, neighbors in process and by HTTP.

    python -m benchmarks.neo4j [--molecules 20000] [--threshold 0.3] [--loads 3] [--rounds 5] [--queries 500]
                               [--added 1000]

Needs Java 17 and Maven. The server is the one that the tests start, with a heap of 1 GB and a page cache of 2 GB, on
the same cores. Loading does what `graphkin load` does. The generation is deleted and loaded again, because a freshly
started server is slower. Compared operations alternate. Positive sets are sampled for every item in one call, because
each GDS call is a pass over all edges, and repeated anchors would cost it nothing.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import neo4j
import numpy as np
from numpy.typing import NDArray

from benchmarks.data import molecules
from benchmarks.http import reply, wait
from benchmarks.http import served as http_served
from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.ingest import pipeline
from graphkin.ingest.append import append
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.policy import Policy
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from graphkin.store.neo4j.bulk import serial_runner, write_import
from graphkin.store.neo4j.connection import PASSWORD, USER
from graphkin.store.records import Edges
from graphkin.store.sampling.base import Engine
from graphkin.store.transfer import copy_generation
from tests.conftest import Neo4jServer
from tests.neo4j_versions import LTS

_POLICY = Policy.from_name("random_walk", length=2, walks=5)
_PAGE = 50  # neighbors


@contextmanager
def served(home: Path) -> Iterator[str]:
    """Serve the data of a folder, and yield the URL."""
    server = Neo4jServer(home, page_cache="2g")
    os.environ |= {USER: server.user, PASSWORD: server.password}
    yield server.url
    server.kill()


def load(source: Generation, target: Store) -> dict[str, float]:
    """Return the seconds of each stage, and of the whole."""
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:  # noqa: ARG001
        begin = time.perf_counter()
        yield lambda _: None
        seconds[name] = time.perf_counter() - begin

    begin = time.perf_counter()
    copy_generation(source, target, stage)
    return seconds | {"all": time.perf_counter() - begin}


def measure_loading(source: Generation, target: Store, loads: int) -> None:
    """Load the generation several times. It is loaded at the end."""
    runs = [load(source, target)]
    for _ in range(loads - 1):
        target.delete(source.collection, source.id)
        runs.append(load(source, target))
    print(f"  loading {'the first time':>38} {f'median of {loads - 1} more':>22}")
    rows = {
        "nodes": (("items",), source.size),
        "fingerprints": (("fingerprints",), source.size),
        "relationships": (("edges", "spanning forest"), source.manifest.edges + len(source.forest())),
    }
    for label, (stages, number) in rows.items():
        first, *more = (number / sum(run[stage] for stage in stages) for run in runs)
        print(f"    {label:30} {first:12,.0f}/s {statistics.median(more):20,.0f}/s")
    first, *more = (run["all"] for run in runs)
    print(f"    {'the whole generation':30} {first:12.1f} s {statistics.median(more):20.1f} s")


def measure_import(source: Generation, folder: Path) -> None:
    """Run the real importer into a new database, whose edges must equal the source's."""
    files, home = folder / "import", folder / "home"
    files.mkdir()
    home.mkdir()
    begin = time.perf_counter()
    _, *arguments = write_import(source, files, serial_runner(source))
    write_seconds = time.perf_counter() - begin
    places = {"NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf")}
    command = ["java", "-cp", str(LTS.jars / "*"), "org.neo4j.cli.AdminTool", *arguments]
    subprocess.run(command, cwd=files, env={**os.environ, **places}, check=True, stdout=subprocess.DEVNULL)
    imported = time.perf_counter() - begin - write_seconds
    with served(home) as url:
        begin = time.perf_counter()
        with open_store(url) as store, store.open(source.collection) as generation:
            ready = time.perf_counter() - begin
            same = all(map(np.array_equal, edges_of(source), edges_of(generation)))
    print("  the importer, into a new database")
    print(f"    files {write_seconds:.1f} s, import {imported:.1f} s, indexes at the first connection {ready:.1f} s")
    print(f"    edges {'equal' if same else 'DIFFER'}")


def edges_of(generation: Generation) -> tuple[NDArray[Any], ...]:
    edges = Edges.concatenate(list(generation.edges()))
    return edges.source, edges.target, edges.similarity


def in_turns(rounds: int, *works: Callable[[int], object]) -> list[float]:
    """Return the median seconds of each work, without two rounds of warm-up."""
    times: list[list[float]] = [[] for _ in works]
    for number in range(rounds + 2):
        for work, measured in zip(works, times, strict=True):
            begin = time.perf_counter()
            work(number)
            measured.append(time.perf_counter() - begin)
    return [statistics.median(measured[2:]) for measured in times]


def timed_sampler(generation: Generation, engine: Engine) -> tuple[Callable[[int], object], float]:
    """Return a function that samples an epoch, and the seconds until the engine was ready."""
    begin = time.perf_counter()
    sampler = generation.sampler(engine)
    sampler.prepare()
    ready = time.perf_counter() - begin
    anchors = np.arange(generation.size, dtype=np.int32)
    return lambda epoch: sampler.positives(anchors, _POLICY, 0, epoch), ready


def measure_positives(generation: Generation, rounds: int) -> None:
    gds, projected = timed_sampler(generation, "gds")
    snapshot, pulled = timed_sampler(generation, "snapshot")
    rates = [generation.size / seconds for seconds in in_turns(rounds, gds, snapshot)]
    print(f"  positive sets, random walks of 3 nodes, 5 walks, {generation.size:,} anchors a call")
    print(f"    {'gds':30} {rates[0]:12,.0f}/s    projected in {projected:.1f} s")
    print(f"    {'snapshot':30} {rates[1]:12,.0f}/s    edges read in {pulled:.1f} s")
    print(f"    {'gds / snapshot':30} {rates[0] / rates[1]:12.3f}")


def measure_one_anchor(generation: Generation, queries: int) -> None:
    """Time requests for the positives of one anchor, one after the other."""
    anchors = np.random.default_rng(0).integers(0, generation.size, (queries, 1)).astype(np.int32)
    print(f"  positives of one anchor, median and 95th percentile of {queries} requests")
    for engine in ("cypher", "gds"):
        sampler = generation.sampler(engine)
        sampler.prepare()
        for name in ("first_order", "random_walk"):
            policy, seconds = Policy.from_name(name), []
            for epoch, anchor in enumerate(anchors):
                begin = time.perf_counter()
                sampler.positives(anchor, policy, 0, epoch)
                seconds.append(time.perf_counter() - begin)
            median, late = 1000 * np.percentile(seconds, [50, 95])
            print(f"    {engine + ', ' + name:30} {median:12.1f} ms {late:12.1f} ms")


def measure_http(url: str, generation: Generation, queries: int, rounds: int) -> None:
    """Compare the API with a driver that sends the same query and does nothing with the rows."""
    ids = np.random.default_rng(0).integers(0, generation.size, queries).tolist()
    statement = (
        "MATCH (g:GraphkinCurrent {collection: 'benchmark'}) "
        "MATCH (:GraphkinMolecule {graph: g.graph, id: $id})-[r:SIMILAR]-(m) "
        "RETURN m.id AS id, m.smiles AS smiles, r.similarity AS similarity ORDER BY similarity DESC, id LIMIT $limit"
    )
    settings: dict[str, Any] = {"store": url}
    with (
        http_served(lambda: create_app(Settings(**settings))) as api,
        neo4j.GraphDatabase.driver(url, auth=(os.environ[USER], os.environ[PASSWORD])) as driver,
        driver.session(default_access_mode=neo4j.READ_ACCESS) as session,
    ):
        wait(api)

        def query(_: int) -> None:
            for id in ids:
                session.run(statement, id=id, limit=_PAGE).consume()

        def request(_: int) -> None:
            for id in ids:
                reply(api, ("GET", f"/v1/collections/benchmark/items/{id}/neighbors?limit={_PAGE}", None, {}))

        rates = [queries / seconds for seconds in in_turns(rounds, request, query)]
    print(f"  neighbors of one item, {_PAGE} at most, by one client")
    print(f"    {'HTTP':30} {rates[0]:12,.0f}/s")
    print(f"    {'a bare query of the driver':30} {rates[1]:12,.0f}/s")
    print(f"    {'HTTP / bare':30} {rates[0] / rates[1]:12.3f}")


def measure_append(server: Store, path: Path) -> None:
    begin = time.perf_counter()
    result = append(server, "benchmark", [str(path)])
    print(f"  append of {result.items:,} items {time.perf_counter() - begin:24.1f} s")


def measure_deletion(server: Store, generation: str) -> None:
    begin = time.perf_counter()
    server.delete("benchmark", generation)
    print(f"  deletion of the first generation {time.perf_counter() - begin:12.1f} s")


def measure_neighbors(remote: Generation, embedded: Generation, queries: int, rounds: int) -> None:
    ids = np.random.default_rng(0).integers(0, embedded.size, queries).tolist()

    def query_all(generation: Generation) -> Callable[[int], object]:
        return lambda _: [generation.neighbors(id, limit=_PAGE) for id in ids]

    rates = [queries / seconds for seconds in in_turns(rounds, query_all(remote), query_all(embedded))]
    print(f"  neighbors of one item, {_PAGE} at most, one query after the other")
    print(f"    {'Neo4j':30} {rates[0]:12,.0f}/s")
    print(f"    {'embedded':30} {rates[1]:12,.0f}/s")
    print(f"    {'Neo4j / embedded':30} {rates[0] / rates[1]:12.4f}")


def ingest(folder: Path, store: Store, count: int, added: int, threshold: float) -> tuple[str, Manifest, Path]:
    """Ingest all but the last molecules. Returns a description, the manifest, and a file of the last molecules."""
    source, lines = molecules(count + added)
    first, last = folder / "molecules.smi", folder / "added.smi"
    first.write_text("".join(lines[:-added]))
    last.write_text("".join(lines[-added:]))
    manifest = pipeline.ingest(store, "benchmark", [str(first)], resolve(threshold=threshold))
    return f"{len(lines) - added:,} of {source}", manifest, last


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--threshold", type=float, default=0.3, help="low, for degrees as large collections have them")
    parser.add_argument("--loads", type=int, default=3, help="at least 2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--added", type=int, default=1_000, help="molecules that are appended")
    options = parser.parse_args()
    Neo4jServer.build()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store", create=True) as store:
        label, manifest, added = ingest(Path(folder), store, options.molecules, options.added, options.threshold)
        degree = 2 * manifest.edges / manifest.counts.kept
        print(f"{label}, {manifest.edges:,} edges, mean degree {degree:.1f}; load average {os.getloadavg()[0]:.1f}")
        with (
            served(Path(folder) / "server") as url,
            open_store(url, create=True) as server,
            store.open("benchmark") as source,
        ):
            measure_loading(source, server, options.loads)
            with server.open("benchmark") as generation:
                same = all(map(np.array_equal, edges_of(source), edges_of(generation)))
                print(f"    edges {'equal' if same else 'DIFFER'}")
                measure_positives(generation, options.rounds)
                measure_one_anchor(generation, options.queries)
                measure_neighbors(generation, source, options.queries, options.rounds)
                measure_http(url, generation, options.queries, options.rounds)
            measure_append(server, added)
            measure_deletion(server, source.id)
        with store.open("benchmark") as source:
            measure_import(source, Path(folder))
        print(f"load average at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
