"""Comparison of two sets, measured next to the join of all pairs within both sets together.

    python -m benchmarks.compare [--items 100000] [--threshold 0.7] [--workers 2] [--without-self-join]
    python -m benchmarks.compare --items 1000000

Both sets have so many fingerprints: Morgan, radius 2, 2048 bits, of molecules of ZINC250k. Where the molecules do not
suffice, each further fingerprint takes every 64-bit word from one of two molecules at random, which keeps the number of
bits and the frequency of each bit.

Three measurements have a process of their own, compile before the clock starts, and report that process's peak memory:
the join of two sets, which finds the pairs; the join within both sets together, which finds about twice as many pairs
among twice as many; and the whole of `graphkin compare` without reading molecules: pairs to Parquet, and the nearest
item for each item of the second set. The last line is a row of a table.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.data import molecules
from benchmarks.peers import Join, Measured, measure
from graphkin.cli.file_search import encode_tables
from graphkin.ingest.progress import Progress
from graphkin.library.comparison import ComparedSet, ComparisonRun
from graphkin.library.inputs import FingerprintSet, compute_fingerprints
from graphkin.similarity.join import SelfJoin, TwoSetJoin
from graphkin.similarity.planes import BitPlanes
from graphkin.store.records import FingerprintType, UInt64

_ZINC250K = 249_456


def read_sets(path: Path) -> tuple[UInt64, UInt64]:
    words = np.load(path)
    return words[: len(words) // 2], words[len(words) // 2 :]


def two_set_join(path: Path, threshold: float, workers: int) -> tuple[float, int]:
    def join(a: UInt64, b: UInt64) -> int:
        return sum(len(pairs) for pairs in TwoSetJoin(b, threshold, BitPlanes.from_words(a)).pairs(0, workers))

    a, b = read_sets(path)
    join(a[:1000], b[:1000])
    begin = time.perf_counter()
    pairs = join(a, b)
    return time.perf_counter() - begin, pairs


def self_join(path: Path, threshold: float, workers: int) -> tuple[float, int]:
    words = np.load(path)
    list(SelfJoin(words[:1000], threshold).pairs())
    begin = time.perf_counter()
    pairs = sum(len(pairs) for pairs in SelfJoin(words, threshold).pairs(0, workers))
    return time.perf_counter() - begin, pairs


def whole_comparison(path: Path, threshold: float, workers: int) -> tuple[float, int]:
    def compare(a: UInt64, b: UInt64) -> int:
        run = ComparisonRun(as_set(a), as_set(b), threshold, workers, Progress())
        with tempfile.TemporaryFile() as file:
            file.writelines(encode_tables(run.pair_tables(), ".parquet"))
        return int(run.result().summary["pairs"])

    a, b = read_sets(path)
    compare(a[:1000], b[:1000])
    begin = time.perf_counter()
    pairs = compare(a, b)
    return time.perf_counter() - begin, pairs


def as_set(words: UInt64) -> ComparedSet:
    fingerprints = FingerprintSet(
        words, FingerprintType(64 * words.shape[1], ""), None, None, np.empty(0, np.int64), []
    )
    return ComparedSet(fingerprints, words)


def prepare(path: Path, count: int) -> str:
    """Write `count` fingerprints in random order to a file, and return their description."""
    source, smiles = molecules(min(count, _ZINC250K))
    random = np.random.default_rng(0)
    real = random.permutation(compute_fingerprints([text.strip() for text in smiles]))
    parents = random.integers(0, len(real), (2, max(count - len(real), 0)))
    is_first = random.random((parents.shape[1], real.shape[1])) < 0.5
    np.save(path, random.permutation(np.concatenate([real, np.where(is_first, real[parents[0]], real[parents[1]])])))
    return f"{len(real):,} of {source}" + (f", {parents.shape[1]:,} mixed" if parents.shape[1] else "")


def report(name: str, measured: Measured, compared: int) -> None:
    per_pair = 1e12 * measured.seconds / compared
    print(f"  {name:24} {measured.seconds:9.2f} s {per_pair:7.1f} ps/pair {measured.pairs:13,} ≥ τ", end="")
    print(f" {measured.peak:8,.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000, help="fingerprints of each set")
    parser.add_argument("--threshold", type=float, default=0.7)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--without-self-join", action="store_true")
    options = parser.parse_args()
    items, settings = options.items, (options.threshold, options.workers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.npy"
        print(f"{items:,} × {items:,}: {prepare(path, 2 * items)}; Tanimoto ≥ {settings[0]}, {settings[1]} workers")
        joins: dict[str, tuple[Join, int]] = {"two sets": (two_set_join, items**2)}
        if not options.without_self_join:
            joins["both sets together"] = (self_join, items * (2 * items - 1))
        joins["compare"] = (whole_comparison, items**2)
        measured = {}
        for name, (join, compared) in joins.items():
            measured[name] = measure(join, path, *settings)
            report(name, measured[name], compared)
    pairs, whole = measured["two sets"], measured["compare"]
    if pairs.pairs != whole.pairs:
        raise SystemExit(f"the join finds {pairs.pairs} pairs, the comparison {whole.pairs}")
    print(
        f"| {items:,} × {items:,} | {settings[0]:g} | {pairs.pairs:,} | {pairs.seconds:.1f} s | "
        f"{1e12 * pairs.seconds / items**2:.1f} ps | {whole.seconds:.1f} s | {whole.peak:,.0f} MiB |"
    )


if __name__ == "__main__":
    main()
