"""Measurements of the referee. Each runs in a process of its own and returns a cell."""

import hashlib
import resource
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib.metadata import version
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import molecules
from benchmarks.molecules import generate
from benchmarks.referee.candidates import Candidates, Exact, find_exact, score
from benchmarks.referee.engines import ENGINES, Settings, describe, key
from graphkin.library.inputs import compute_fingerprints
from graphkin.similarity.join import Pairs, SelfJoin
from graphkin.similarity.molecules.recipe import FingerprintRecipe
from graphkin.similarity.tanimoto import pairwise_tanimoto
from graphkin.store.records import Int64, UInt64
from studies.cells import Cell, Stopwatch, load_or_make

_WARM_UP = 1_000  # items
_BLOCK = 200_000  # molecules


class Case(NamedTuple):
    """The molecules, the queries and the exact neighbors that all engines share.

    Attributes:
        source: "generated" by `benchmarks.molecules`, or "zinc250k".
        size: Number of molecules.
        seed: Seed of the generated molecules and of the sample of queries.
        queries: Number of molecules whose neighbors are searched.
        thresholds: Lowest similarities, ascending. The first one is that of the similarity graph.
        ks: Numbers of neighbors.
        threads: Threads of each engine that can use several.
        work: Folder of the fingerprints and of the indexes.
        cells: Folder of the measurements.
    """

    source: Literal["generated", "zinc250k"]
    size: int
    seed: int
    queries: int
    thresholds: tuple[float, ...]
    ks: tuple[int, ...]
    threads: int
    work: Path
    cells: Path

    @property
    def name(self) -> str:
        return f"{self.source}-{self.size}-seed-{self.seed}"

    @property
    def fingerprints(self) -> Path:
        return self.work / f"{self.name}.npy"

    @property
    def exact(self) -> Path:
        return self.work / f"{self.name}-exact.npz"

    def cell(self, *parts: str) -> Path:
        return self.cells.joinpath(self.name, *parts[:-1], f"{parts[-1]}.json")

    def read_words(self) -> UInt64:
        words: UInt64 = np.load(self.fingerprints)
        return words

    def read_exact(self) -> Exact:
        with np.load(self.exact) as arrays:
            return Exact(arrays["rows"], self.ks, arrays["least"], self.thresholds, arrays["degrees"])


def in_process(measure: Callable[..., Cell], *arguments: object) -> Cell:
    """Return the cell that a new process measures.

    Raises:
        BrokenProcessPool: The process crashed, or ran out of memory.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


def prepare(case: Case) -> Cell:
    """Compute the fingerprints and the exact neighbors if they are missing, and return the cell of the exact graph."""
    case.work.mkdir(parents=True, exist_ok=True)
    if not case.fingerprints.exists():
        _write_fingerprints(case)
    path = case.cell("exact-graph")
    if not case.exact.exists():
        path.unlink(missing_ok=True)
    return load_or_make(path, partial(in_process, measure_graph, case))


def _write_fingerprints(case: Case) -> None:
    smiles = iter(generate(case.size, case.seed) if case.source == "generated" else _zinc250k(case.size))
    words = FingerprintRecipe().words
    draft = case.fingerprints.with_suffix(".partial")
    array = np.lib.format.open_memmap(draft, "w+", np.dtype("<u8"), (case.size, words))
    for start in range(0, case.size, _BLOCK):
        block = list(islice(smiles, _BLOCK))
        array[start : start + len(block)] = compute_fingerprints(block)
    array.flush()
    draft.rename(case.fingerprints)


def _zinc250k(count: int) -> list[str]:
    source, lines = molecules(count)
    if (source, len(lines)) != ("ZINC250k", count):
        raise ValueError(f"{count:,} molecules of ZINC250k are not available: ../shared/data has at most 249,456")
    return [line.strip() for line in lines]


def measure_graph(case: Case) -> Cell:
    """Measure the exact join, and write the exact neighbors of the queries."""
    words = case.read_words()
    list(SelfJoin(words[:_WARM_UP], case.thresholds[0]).pairs())
    start_mib, watch = peak_mib(), Stopwatch()
    pairs = Pairs.concatenate(list(SelfJoin(words, case.thresholds[0]).pairs(0, case.threads)))
    times, peak = watch.read(), peak_mib()
    queries = np.random.default_rng(case.seed).choice(case.size, min(case.queries, case.size), replace=False)
    exact = find_exact(words, np.sort(queries), case.ks, pairs, case.thresholds, case.threads)
    with case.exact.open("wb") as file:
        np.savez(file, rows=exact.rows, least=exact.least, degrees=exact.degrees)
    return {
        "molecules": case.size,
        "threshold": case.thresholds[0],
        "pairs": len(pairs),
        **times,
        "start_mib": start_mib,
        "peak_mib": peak,
        "threads": case.threads,
        "queries": len(exact.rows),
        "neighbors": {
            f"{threshold:g}": {"pairs": int(row.sum()), "with": int((row > 0).sum()), "most": int(row.max())}
            for threshold, row in zip(case.thresholds, exact.degrees, strict=True)
        },
        "sha256": {
            "fingerprints": sha256([words]),
            "graph": hash_graph(pairs),
            "queries": sha256([exact.rows, exact.least, exact.degrees]),
        },
    }


def hash_graph(pairs: Pairs) -> str:
    """Return the hash of the pairs in the order of their ids, whatever the order of the tasks that found them."""
    order = np.lexsort((pairs.right, pairs.left))
    return sha256(column[order] for column in (pairs.left, pairs.right, pairs.similarity))


def sha256(arrays: Iterable[NDArray[Any]]) -> str:
    """Return the SHA-256 of the little-endian content of arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).data)
    return digest.hexdigest()


def judge(case: Case, name: str) -> None:
    """Measure all settings of an engine, without those that have been measured."""
    for settings, searches in ENGINES[name].sweep(case.size):
        try:
            _judge_index(case, name, settings, searches)
        except BrokenProcessPool:
            print(f"{name}, {describe(settings)}: the process crashed, perhaps for lack of memory", flush=True)


def _judge_index(case: Case, name: str, settings: Settings, searches: list[Settings]) -> None:
    """Build an index, search it with all settings, and delete it."""
    index = case.work / f"{case.name}-{name}-{key(settings)}.index"
    build_cell = case.cell(name, key(settings), "build")
    cells = [(search, case.cell(name, key(settings), key(search))) for search in searches]
    if build_cell.exists() and all(path.exists() for _, path in cells):
        return
    if not index.exists():
        build_cell.unlink(missing_ok=True)
    load_or_make(build_cell, partial(in_process, measure_build, case, name, settings, index))
    for search, path in cells:
        load_or_make(path, partial(in_process, measure_search, case, name, settings, search, index))
    index.unlink()


def measure_build(case: Case, name: str, settings: Settings, path: Path) -> Cell:
    """Build an index, and write it to a file outside the measured time."""
    engine, words = ENGINES[name], case.read_words()
    engine.warm_up(words[:_WARM_UP], settings, case.threads)
    start_mib, watch = peak_mib(), Stopwatch()
    index = engine.build(words, settings, case.threads)
    times, peak = watch.read(), peak_mib()
    draft = path.with_suffix(".partial")
    engine.save(index, draft)
    draft.rename(path)
    return {
        "engine": name,
        "version": version(engine.requirement),
        "metric": engine.metric,
        "settings": settings,
        **times,
        "start_mib": start_mib,
        "peak_mib": peak,
        "index_mib": path.stat().st_size / 2**20,
        "threads": case.threads,
    }


def measure_search(case: Case, name: str, settings: Settings, search: Settings, path: Path) -> Cell:
    """Search the queries in an index, compare the candidates with them, and return times and recall."""
    engine, words, exact = ENGINES[name], case.read_words(), case.read_exact()
    index, tanimoto = engine.load(path, words), pairwise_tanimoto(words)

    def find(rows: Int64) -> tuple[Candidates, NDArray[np.float64]]:
        lists = engine.candidates(index, words, rows, search, case.threads)
        candidates = Candidates.from_lists(lists, rows, len(words))
        return candidates, candidates.similarities(tanimoto, rows)

    find(exact.rows[:10])
    watch = Stopwatch()
    candidates, similarity = find(exact.rows)
    return {
        "engine": name,
        "settings": settings,
        "search": search,
        **watch.read(),
        "peak_mib": peak_mib(),
        "threads": case.threads,
        "queries": len(exact.rows),
        "candidates": len(candidates.item) / len(exact.rows),
        "recall": score(candidates, similarity, exact)._asdict(),
    }


def peak_mib() -> float:
    """Return the peak resident memory of this process in MiB.

    `getrusage` counts the memory of the process that started this one, too, so it serves only where /proc is missing.
    """
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
