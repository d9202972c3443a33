"""Weisfeiler-Lehman similarities of REDDIT-BINARY, compared with GraKeL's `fit_transform`.

    python -m benchmarks.wl [--graphs 500 1000 2000] [--workers 2]

Both start from graphs in memory, with degrees as initial labels and 3 iterations. GraKeL computes every pair. Ours
computes the candidate pairs of the exact rule (numbers of nodes and edges within a tenth), which an ingest needs, and
then all pairs as well. The output includes the largest difference of the similarities. Every measurement has a process
of its own, compiles before the clock starts, and reports that process's peak memory. The last part is the whole
`graphkin ingest graphs`, from the zip archive to the published generation. Needs ../shared.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.readers.tu import read_tu
from graphkin.similarity.graphs.descriptors import GraphDescriptors
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.graphs.reference import GrakelKernel
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.join import Pairs
from graphkin.store import open_store

FILE = Path(__file__).parents[2] / "shared" / "data" / "tu" / "REDDIT-BINARY.zip"

_RECIPE = resolve_graphs()
_COMPILED_WITH = 50  # graphs


class Measured(NamedTuple):
    seconds: float
    pairs: Pairs
    peak: float  # MiB of the process


def structures(count: int) -> list[Structure]:
    """Return `count` graphs evenly spread over the file, which is ordered by class."""
    texts = [text for _, text, *_ in read_tu(str(FILE))]
    return [Structure.read(texts[at]) for at in np.linspace(0, len(texts) - 1, count).astype(int)]


def ours(graphs: list[Structure], workers: int) -> Pairs:
    descriptors = GraphDescriptors(
        recipe=_RECIPE,
        features=Features.from_structures(graphs, _RECIPE),
        nodes=np.array([graph.nodes for graph in graphs], np.int32),
        edges=np.array([len(graph.edges) for graph in graphs], np.int32),
        tie=np.arange(len(graphs), dtype=np.uint64),
        structures=(),
    )
    return Pairs.concatenate(list(descriptors.pairs(0, workers, lambda _: None)))


def all_pairs(graphs: list[Structure], workers: int) -> Pairs:  # noqa: ARG001 - one thread
    left, right = (ends.astype(np.int32) for ends in np.triu_indices(len(graphs), 1))
    return Pairs(left, right, Features.from_structures(graphs, _RECIPE).similarities(left, right))


def grakel(graphs: list[Structure], workers: int) -> Pairs:  # noqa: ARG001 - one thread
    left, right = (ends.astype(np.int32) for ends in np.triu_indices(len(graphs), 1))
    return Pairs(left, right, GrakelKernel(graphs, _RECIPE).similarities(left, right))


def measure(join: Callable[..., Pairs], count: int, workers: int) -> Measured:
    """Measure `join` in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_measure_here, join, count, workers).result()


def _measure_here(join: Callable[..., Pairs], count: int, workers: int) -> Measured:
    graphs = structures(count)
    join(graphs[:_COMPILED_WITH], workers)
    begin = time.perf_counter()
    pairs = join(graphs, workers)
    seconds = time.perf_counter() - begin
    return Measured(seconds, pairs, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def difference(pairs: Pairs, reference: Pairs, count: int) -> float:
    """Return the largest difference of similarities from those of all pairs."""
    whole = np.zeros((count, count))
    whole[reference.left, reference.right] = reference.similarity
    return float(np.abs(whole[pairs.left, pairs.right] - pairs.similarity).max())


def compare(count: int, workers: int) -> None:
    theirs = measure(grakel, count, 1)
    print(f"{count:,} graphs")
    print(_line("GraKeL, all pairs", theirs, ""))
    for label, join in (("ours, candidates of the exact rule", ours), ("ours, all pairs", all_pairs)):
        result = measure(join, count, workers)
        worst = difference(result.pairs, theirs.pairs, count)
        print(_line(label, result, f"{theirs.seconds / result.seconds:6.1f} x as fast, differs by {worst:.0e}"))


def _line(label: str, measured: Measured, rest: str) -> str:
    pairs = f"{len(measured.pairs):12,} pairs"
    return f"  {label:36} {measured.seconds:7.3f} s {pairs} {measured.peak:8,.0f} MiB  {rest}"


def whole(workers: int) -> None:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store", create=True) as store:
        begin = time.perf_counter()
        manifest = ingest(store, "reddit", [str(FILE)], _RECIPE, IngestOptions(workers=workers))
        seconds = time.perf_counter() - begin
    print(f"graphkin ingest graphs, {manifest.counts.kept:,} graphs: {seconds:.2f} s, {manifest.times}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, nargs="+", default=[500, 1000, 2000])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if not FILE.is_file():
        parser.error("this benchmark needs ../shared, which is missing")
    for count in options.graphs:
        compare(count, options.workers)
    whole(options.workers)


if __name__ == "__main__":
    main()
