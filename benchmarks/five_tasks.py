"""Five tasks of a data scientist, done with graphkin and with other tools on the same molecules.

    python -m benchmarks.five_tasks [--molecules 20000] [--tools graphkin RDKit FPSim2 ...] [--tasks pairs nearest ...]

The tasks use Morgan fingerprints of radius 2 and 2048 bits and the similarity .6:

- pairs: every pair with at least this similarity,
- nearest: the 10 nearest of each of 1,000 other molecules,
- butina: Butina clusters,
- append: 500 more molecules, and what they are similar to,
- split: a fifth of the molecules as a test set without a similar training molecule.

A tool has one function that prepares its molecules, outside the clock, and one function for each task that it can do.
The table shows wall time and processor time in seconds, the peak memory of the process, and the lines of code of the
functions that the task needs, with the preparation. Each measurement runs in a process of its own. The answers of all
tools are in the table: numbers of pairs and clusters, the sum of the similarities of the nearest, and for splits the
leaks, which are counted by brute force.

The other tools are `pip install FPSim2 scikit-fingerprints usearch`; the table names those that are not installed.
chemfp 1.6, its last free version, needs Python 2.7 and cannot run here.
"""

import argparse
import csv
import inspect
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import SHARED, molecules

THRESHOLD = 0.6
QUERIES = 1000
APPENDED = 500

Positions = NDArray[np.int64]


class Sample(NamedTuple):
    """SMILES of the molecules, of the queries, and of the molecules to append."""

    smiles: list[str]
    queries: list[str]
    appended: list[str]


class Tool(NamedTuple):
    """A tool: the package that it needs, the function that prepares its molecules, and a function for each task."""

    package: str
    prepare: Callable[[list[str]], Any]
    tasks: dict[str, Callable[[Any, Sample], Any]]


class Measurement(NamedTuple):
    """Wall and processor seconds, peak memory in MiB, and the answer as text."""

    seconds: float
    processor: float
    peak: float
    answer: str


# graphkin


def graphkin_prepare(smiles: list[str]) -> Any:
    import graphkin

    return graphkin.ingest(smiles, threshold=THRESHOLD)


def graphkin_pairs(collection: Any, _: Sample) -> int:
    return len(collection.edges(complete=True))


def graphkin_nearest(collection: Any, sample: Sample) -> float:
    return float(np.sum(collection.search_batch(sample.queries, limit=10)["similarity"]))


def graphkin_butina(collection: Any, _: Sample) -> int:
    return len(np.unique(collection.labels("butina", THRESHOLD)))


def graphkin_append(collection: Any, sample: Sample) -> str:
    collection.append(sample.appended)
    return f"{collection.size:,} items and their neighbors stored"


def graphkin_split(_: Any, sample: Sample) -> tuple[Positions, Positions]:
    from graphkin.model_selection import train_test_split

    train, test = train_test_split(sample.smiles, threshold=THRESHOLD, test_size=0.2, random_state=0)
    return train, test


# RDKit


def rdkit_prepare(smiles: list[str]) -> list[Any]:
    from rdkit.Chem import MolFromSmiles, rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return [generator.GetFingerprint(MolFromSmiles(each)) for each in smiles]


def rdkit_similar(fingerprints: list[Any], first: int = 0) -> NDArray[np.int64]:
    from rdkit.DataStructs import BulkTanimotoSimilarity

    pairs = []
    for i in range(first, len(fingerprints)):
        similarity = np.array(BulkTanimotoSimilarity(fingerprints[i], fingerprints[:i]))
        pairs += [(i, j) for j in np.flatnonzero(similarity >= THRESHOLD)]
    return np.array(pairs).reshape(-1, 2)


def rdkit_pairs(fingerprints: list[Any], _: Sample) -> int:
    return len(rdkit_similar(fingerprints))


def rdkit_nearest(fingerprints: list[Any], sample: Sample) -> float:
    from rdkit.DataStructs import BulkTanimotoSimilarity

    queries = rdkit_prepare(sample.queries)
    return float(np.sum([np.sort(BulkTanimotoSimilarity(query, fingerprints))[-10:] for query in queries]))


def rdkit_butina(fingerprints: list[Any], _: Sample) -> int:
    from rdkit.DataStructs import BulkTanimotoSimilarity
    from rdkit.ML.Cluster import Butina

    rows = [1 - np.array(BulkTanimotoSimilarity(each, fingerprints[:i])) for i, each in enumerate(fingerprints)]
    return len(Butina.ClusterData(np.concatenate(rows), len(fingerprints), 1 - THRESHOLD, isDistData=True))  # type: ignore[no-untyped-call]


def rdkit_append(fingerprints: list[Any], sample: Sample) -> str:
    pairs = rdkit_similar(fingerprints + rdkit_prepare(sample.appended), len(fingerprints))
    return f"{len(pairs):,} new pairs, not stored"


def rdkit_split(fingerprints: list[Any], sample: Sample) -> tuple[Positions, Positions]:
    return components_split(*rdkit_similar(fingerprints).T, len(sample.smiles))  # type: ignore[call-arg]


# FPSim2


def fpsim2_prepare(smiles: list[str]) -> Any:
    from FPSim2 import FPSim2Engine
    from FPSim2.io import create_db_file

    path = str(Path(tempfile.mkdtemp()) / "molecules.h5")
    rows = [[each, number] for number, each in enumerate(smiles)]
    create_db_file(rows, path, "smiles", "Morgan", {"radius": 2, "fpSize": 2048})
    return FPSim2Engine(path)


def fpsim2_pairs(engine: Any, _: Sample) -> int:
    return int(engine.symmetric_distance_matrix(THRESHOLD, n_workers=2).nnz // 2)


def fpsim2_nearest(engine: Any, sample: Sample) -> float:
    return float(sum(engine.top_k(query, 10, 0.0, n_workers=2)["coeff"].sum() for query in sample.queries))


def fpsim2_append(engine: Any, sample: Sample) -> str:
    from FPSim2 import FPSim2Engine

    engine.storage.append_fps([[each, 10**6 + number] for number, each in enumerate(sample.appended)], "smiles")
    larger = FPSim2Engine(engine.fp_filename, fps_sort=True)
    hits = sum(len(larger.similarity(each, THRESHOLD, n_workers=2)) for each in sample.appended)
    return f"{hits:,} hits, fingerprints stored"


def fpsim2_split(engine: Any, sample: Sample) -> tuple[Positions, Positions]:
    matrix = engine.symmetric_distance_matrix(THRESHOLD, n_workers=2).tocoo()
    ids = engine.fps[:, 0].astype(np.int64)  # the rows of the matrix are sorted by popcount
    return components_split(ids[matrix.row], ids[matrix.col], len(sample.smiles))


# scikit-fingerprints


def skfp_prepare(smiles: list[str]) -> NDArray[np.uint8]:
    from skfp.fingerprints import ECFPFingerprint

    fingerprints: NDArray[np.uint8] = ECFPFingerprint().transform(smiles)
    return fingerprints


def skfp_pairs(fingerprints: NDArray[np.uint8], _: Sample) -> int:
    from skfp.distances import bulk_tanimoto_binary_similarity

    return len(np.argwhere(np.triu(bulk_tanimoto_binary_similarity(fingerprints) >= THRESHOLD, 1)))


def skfp_nearest(fingerprints: NDArray[np.uint8], sample: Sample) -> float:
    from skfp.distances import bulk_tanimoto_binary_similarity

    similarity = bulk_tanimoto_binary_similarity(skfp_prepare(sample.queries), fingerprints)
    return float(np.sort(similarity, axis=1)[:, -10:].sum())


def skfp_append(fingerprints: NDArray[np.uint8], sample: Sample) -> str:
    from skfp.distances import bulk_tanimoto_binary_similarity

    more = skfp_prepare(sample.appended)
    with_old = (bulk_tanimoto_binary_similarity(more, fingerprints) >= THRESHOLD).sum()
    with_new = np.triu(bulk_tanimoto_binary_similarity(more) >= THRESHOLD, 1).sum()
    return f"{with_old + with_new:,} new pairs, not stored"


def skfp_split(_: NDArray[np.uint8], sample: Sample) -> tuple[Positions, Positions]:
    from skfp.model_selection import butina_train_test_split

    train, test = butina_train_test_split(sample.smiles, test_size=0.2, threshold=1 - THRESHOLD, return_indices=True)
    return np.asarray(train), np.asarray(test)


# USearch


def usearch_prepare(smiles: list[str]) -> Any:
    from usearch.index import Index, MetricKind

    index = Index(ndim=2048, metric=MetricKind.Tanimoto, dtype="b1")
    index.add(np.arange(len(smiles)), packed(smiles))
    return index


def usearch_nearest(index: Any, sample: Sample) -> float:
    return float(np.sum(1 - index.search(packed(sample.queries), 10, exact=True).distances))


def usearch_append(index: Any, sample: Sample) -> str:
    index.add(np.arange(len(sample.appended)) + 10**6, packed(sample.appended))
    return "fingerprints stored, no pairs"


def packed(smiles: list[str]) -> NDArray[np.uint8]:
    from rdkit.Chem import MolFromSmiles, rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return np.packbits([generator.GetFingerprintAsNumPy(MolFromSmiles(each)) for each in smiles], axis=1)


def components_split(left: Positions, right: Positions, count: int) -> tuple[Positions, Positions]:
    """Return a training and a test part that divide no connected component. The smallest are tested."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(left)), (left, right)), (count, count))
    component = connected_components(graph, directed=False)[1]
    order = np.lexsort((component, np.bincount(component)[component]))
    ordered = component[order]
    stop = int(np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: count // 5 + 1])[-1])
    return order[stop:], order[:stop]


TOOLS = {
    "graphkin": Tool(
        "graphkin",
        graphkin_prepare,
        {
            "pairs": graphkin_pairs,
            "nearest": graphkin_nearest,
            "butina": graphkin_butina,
            "append": graphkin_append,
            "split": graphkin_split,
        },
    ),
    "RDKit": Tool(
        "rdkit",
        rdkit_prepare,
        {
            "pairs": rdkit_pairs,
            "nearest": rdkit_nearest,
            "butina": rdkit_butina,
            "append": rdkit_append,
            "split": rdkit_split,
        },
    ),
    "FPSim2": Tool(
        "FPSim2",
        fpsim2_prepare,
        {"pairs": fpsim2_pairs, "nearest": fpsim2_nearest, "append": fpsim2_append, "split": fpsim2_split},
    ),
    "scikit-fingerprints": Tool(
        "skfp",
        skfp_prepare,
        {"pairs": skfp_pairs, "nearest": skfp_nearest, "append": skfp_append, "split": skfp_split},
    ),
    "USearch": Tool("usearch", usearch_prepare, {"nearest": usearch_nearest, "append": usearch_append}),
}
TASKS = tuple(TOOLS["graphkin"].tasks)


def measure(tool: str, task: str, sample: Sample) -> Measurement:
    """Measure a task in a new process.

    Raises:
        BrokenProcessPool: The process crashed.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_measure_here, tool, task, sample).result()


def _measure_here(tool: str, task: str, sample: Sample) -> Measurement:
    run = TOOLS[tool].tasks[task]
    small = Sample(sample.smiles[:200], sample.queries[:10], sample.appended[:10])
    run(TOOLS[tool].prepare(small.smiles), small)  # imports and compiles
    prepared = TOOLS[tool].prepare(sample.smiles)
    begin, begin_processor = time.perf_counter(), _processor_seconds()
    result = run(prepared, sample)
    seconds, processor = time.perf_counter() - begin, _processor_seconds() - begin_processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measurement(seconds, processor, peak, describe(task, result, sample))


def _processor_seconds() -> float:
    """Return the processor time of this process and of its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def describe(task: str, result: Any, sample: Sample) -> str:
    """Return the result of a task as text."""
    match task:
        case "pairs":
            return f"{result:,} pairs"
        case "nearest":
            return f"sum {result:.3f}"
        case "butina":
            return f"{result:,} clusters"
        case "split":
            train, test = result
            lost = len(sample.smiles) - len(train) - len(test)
            leaks = f"{leaking_tests(sample.smiles, train, test):,} of {len(test):,} test molecules leak"
            return f"{leaks}, {lost:,} discarded" if lost else leaks
    return str(result)


def leaking_tests(smiles: list[str], train: Positions, test: Positions) -> int:
    """Return the number of test molecules that have a similar training molecule, by comparing all."""
    words = packed(smiles).view(np.uint64)
    train_words, train_bits = words[train], np.bitwise_count(words[train]).sum(axis=1, dtype=np.int64)
    leaks = 0
    for query in words[test]:
        shared = np.bitwise_count(train_words & query).sum(axis=1, dtype=np.int64)
        either = train_bits + int(np.bitwise_count(query).sum()) - shared
        leaks += bool((shared >= THRESHOLD * either).any())
    return leaks


def lines_of_code(tool: str, task: str) -> int:
    """Return the number of lines that prepare the molecules and do the task, without signatures and docstrings."""
    functions: set[Callable[..., Any]] = {TOOLS[tool].prepare, TOOLS[tool].tasks[task]}
    functions |= {called for function in [*functions] for called in _called(function)}
    functions |= {called for function in [*functions] for called in _called(function)}
    return sum(_body_lines(function) for function in functions)


def _called(function: Callable[..., Any]) -> Iterator[FunctionType]:
    """Yield the functions of this module that a function calls."""
    for name in function.__code__.co_names:
        if isinstance(called := globals().get(name), FunctionType) and called.__module__ == __name__:
            yield called


def _body_lines(function: Callable[..., Any]) -> int:
    lines = [line for line in inspect.getsource(function).splitlines() if line.strip()]
    return len(lines) - 1 - (function.__doc__ is not None)


def report(tool: str, task: str, sample: Sample) -> str:
    """Return a row of the table."""
    if find_spec(TOOLS[tool].package) is None:
        return f"| {task} | {tool} | not installed | | | | |"
    try:
        measured = measure(tool, task, sample)
    except BrokenProcessPool:
        return f"| {task} | {tool} | crashed | | | | |"
    times = f"{measured.seconds:.2f} | {measured.processor:.2f} | {measured.peak:,.0f}"
    return f"| {task} | {tool} | {times} | {lines_of_code(tool, task)} | {measured.answer} |"


def series() -> tuple[str, list[str]]:
    """Return the distinct molecules of the 23 MoleculeACE sets in random order, or RDKit's sample without ../shared."""
    folder = SHARED / "moleculeace"
    if not folder.is_dir():
        source, smiles = molecules(5000)
        return source, [line.split()[0] for line in smiles]
    smiles = sorted({row["smiles"] for path in folder.glob("*.csv") for row in csv.DictReader(path.open())})
    random.Random(0).shuffle(smiles)
    return "MoleculeACE", smiles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=[*TOOLS])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    arguments = parser.parse_args()
    source, smiles = series()
    sample = Sample(smiles[QUERIES + APPENDED :][: arguments.molecules], smiles[:QUERIES], smiles[QUERIES:][:APPENDED])
    print(f"{len(sample.smiles):,} molecules of {source}\n")
    print("| task | tool | wall, s | processor, s | memory, MiB | lines | answer |")
    print("|---|---|---|---|---|---|---|")
    for task in arguments.tasks:
        for tool in arguments.tools:
            if task in TOOLS[tool].tasks:
                print(report(tool, task, sample), flush=True)


if __name__ == "__main__":
    main()
