"""Nodes of four big graphs as one collection: time of the ingest, and similarity of neighbors.

    python -m benchmarks.nodes [--workers 2] [--edges 10000000]

A child process ingests Facebook pages, GitHub developers and Twitch streamers (DE, FR) of ../shared with the default
recipe. It reports its stages, and the peak memory of itself and its workers. The output by source follows: nodes, mean
degree in the big graph and in the similarity graph, share of isolated items, and mean similarity of first-order
neighbors.

The last part reads a random edge list of --edges edges into memory, and prints the peak.
"""

import argparse
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.readers.networks import read_network
from graphkin.protocol.manifest import Manifest
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.store import open_store
from graphkin.store.base import Generation

NODES = Path(__file__).parents[2] / "shared" / "data" / "nodes"
SOURCES = ("facebook", "github", "twitch_de", "twitch_fr")


def run_ingest(store: str, workers: int) -> tuple[Manifest, float, int]:
    """Return the manifest, the seconds, and the peak MiB of this process and its workers.

    Every worker counts as much as the largest one.
    """
    files = [str(NODES / f"{source}_edges.csv.gz") for source in SOURCES]
    labels = [str(NODES / f"{source}_labels.csv.gz") for source in SOURCES]
    begin = time.perf_counter()
    with open_store(store, create=True) as opened:
        manifest = ingest(opened, "nodes", files, resolve_nodes(), IngestOptions(workers=workers, labels=labels))
    peaks = (resource.getrusage(whom).ru_maxrss for whom in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own, child = peaks
    return manifest, time.perf_counter() - begin, (own + workers * child) // 1024


def read(path: str) -> tuple[int, float, int]:
    """Return the edges of a file, the seconds, and the peak MiB."""
    begin = time.perf_counter()
    with Path(path).open("rb") as stream:
        (reading,) = read_network(path, stream, "edgelist", (None, None))
    edges = len(reading.network.links.indices) // 2
    return edges, time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def print_by_source(generation: Generation) -> None:
    graph, degree = generation.graph(), generation.column("degree")
    names = [text for batch in generation.columns(["graph"]) for text in batch["graph"].to_pylist()]
    sources, source_of = np.unique(names, return_inverse=True)
    order = np.argsort([names.index(source) for source in sources])
    owner = np.repeat(np.arange(graph.nodes), graph.degrees())
    print(f"  {'source':12}{'nodes':>9}{'degree':>9}{'neighbours':>12}{'isolated':>10}{'similarity':>12}")
    for name, source in zip(SOURCES, order.tolist(), strict=True):
        is_own = source_of == source
        isolated, similarity = (graph.degrees()[is_own] == 0).mean(), graph.similarity[is_own[owner]].mean()
        near = graph.degrees()[is_own].mean()
        print(f"  {name:12}{is_own.sum():9,}{degree[is_own].mean():9.1f}{near:12.1f}{isolated:10.2%}{similarity:12.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--edges", type=int, default=10_000_000)
    options = parser.parse_args()
    if not NODES.is_dir():
        parser.exit(1, f"{NODES} is missing: this benchmark needs the data folder ../shared\n")
    alone = ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        manifest, seconds, peak = alone.submit(run_ingest, store, options.workers).result()
        print(
            f"{manifest.counts.kept:,} nodes, {manifest.edges:,} edges of the hierarchy, {seconds:.1f} s, {peak:,} MiB"
        )
        print(f"  {manifest.times}")
        with open_store(store) as opened, opened.open("nodes") as generation:
            print_by_source(generation)
        path = Path(folder) / "random.edgelist"
        ends = np.random.default_rng(0).integers(0, options.edges // 10, (options.edges, 2))
        with path.open("w") as file:
            for block in np.array_split(ends, 100):
                file.write("".join(f"{u} {v}\n" for u, v in block.tolist()))
        edges, seconds, peak = alone.submit(read, str(path)).result()
        print(f"{path.stat().st_size / 1e6:,.0f} MB of edges: {edges:,} in {seconds:.1f} s, {peak:,} MiB")


if __name__ == "__main__":
    main()
