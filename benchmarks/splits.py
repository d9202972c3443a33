"""A split without leaks of many molecules, and the exact check of it. Prints one row of a table.

    python -m benchmarks.splits [--molecules 200000] [--threshold 0.6] [--method components] [--workers 2]
    python -m benchmarks.splits --molecules 2000000

Up to 249,456 molecules are ZINC250k's; more are followed by MOSES's, in all about two million. The seconds are those
of the fingerprints from SMILES, of the split (join, components and choice), and of the check, which compares every
training with every test molecule. The peak is that of this process without the worker processes that read SMILES. The
kernels compile before the clock starts.
"""

import argparse
import gzip
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import numpy as np

from benchmarks.data import SHARED, molecules
from graphkin.library.inputs import read_fingerprints
from graphkin.library.leakage import leaking_pairs
from graphkin.library.splits import Splitter

_ZINC250K = 249_456
_TEST = 0.2
_COLUMNS = (
    *("molecules", "threshold", "method", "pairs", "largest component", "train", "test", "discarded", "leaks"),
    *("fingerprints s", "split s", "check s", "peak GiB"),
)


def smiles(count: int) -> list[str]:
    """Return up to `count` SMILES of ZINC250k, then of MOSES."""
    texts = [line.strip() for line in molecules(count)[1]]
    if count > _ZINC250K:
        for name in ("moses_train.csv.gz", "moses_test.csv.gz"):
            with gzip.open(SHARED / "molecules" / name, "rt") as file:
                next(file)
                texts += [line.partition(",")[0].strip() for line in islice(file, count - len(texts))]
    return texts


@contextmanager
def timed(times: list[float]) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    times.append(time.perf_counter() - begin)


def compile_kernels() -> None:
    """Split a chain of 40 fingerprints, each similar to the next, so that every kernel runs once."""
    words = (np.uint64(0b111111) << np.arange(40, dtype=np.uint64))[:, None]
    train, test = Splitter(words, 0.6, 0, 1).split(0.2, "min-discard")
    list(leaking_pairs(words[train], words[test], 0.6, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=200_000)
    parser.add_argument("--threshold", type=float, default=0.6)
    parser.add_argument("--method", choices=["components", "min-discard"], default="components")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    texts, times = smiles(options.molecules), list[float]()
    compile_kernels()
    with timed(times):
        words = read_fingerprints(texts, workers=options.workers).words
    with timed(times):
        split = Splitter(words, options.threshold, 0, options.workers).split(_TEST, options.method)
    with timed(times):
        pairs = leaking_pairs(words[split.train], words[split.test], options.threshold, options.workers)
        leaks = sum(len(block) for block in pairs)
    report = split.report
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    numbers = [report[name] for name in ("pairs", "largest_component", "train", "test", "discarded")]
    cells = [len(words), options.threshold, options.method, *numbers, leaks]
    print(f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}")
    shown = [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells]
    print(f"| {' | '.join([*shown, *(f'{seconds:.1f}' for seconds in times), f'{peak:.1f}'])} |")


if __name__ == "__main__":
    main()
