"""Similarity join compared with a naive kernel and with FPSim2 on the same molecules, and then alone on more.

    python -m benchmarks.join [--threshold 0.5] [--molecules 20000] [--alone 249456 1000000] [--workers 2]

The naive kernel counts every pair of packed fingerprints bit by bit, each pair once, in blocks that stay in cache. It
sorts by popcount to skip pairs that cannot reach the threshold. FPSim2 runs its `symmetric_distance_matrix`, if it is
installed. All compute Morgan fingerprints of radius 2 and 2048 bits, return index pairs with similarities, and must
find equally many pairs.

Every measurement has a process of its own, compiles before the clock starts, and reports that process's peak memory. A
process that crashes, as FPSim2's sometimes does, is restarted up to five times, and the report counts the crashes. Up
to 249,456 molecules are ZINC250k's, more are MOSES's. The others' time on all of ZINC250k is extrapolated by the square
of the sizes, unless --in-full measures it.
"""

import argparse
import gzip
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import molecules
from benchmarks.peers import Crashed, Measured, measure
from graphkin.similarity.join import similar_pairs
from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.reader import MoleculeReader
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.popcount import common, minimum_common
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, UInt64

_ZINC250K = 249_456
_MOSES = Path(__file__).parents[2] / "shared" / "data" / "molecules"


class Sample(NamedTuple):
    label: str
    smiles: list[str]
    fingerprints: Path

    def words(self) -> UInt64:
        words: UInt64 = np.load(self.fingerprints)
        return words


def ours(sample: Sample, threshold: float, workers: int) -> tuple[float, int]:
    words = sample.words()
    list(similar_pairs(words[:1000], threshold, 1))
    begin = time.perf_counter()
    pair_count = sum(len(pairs) for pairs in similar_pairs(words, threshold, workers))
    return time.perf_counter() - begin, pair_count


def naive(sample: Sample, threshold: float, workers: int) -> tuple[float, int]:
    def join(words: UInt64) -> int:
        popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        order = np.argsort(popcounts, kind="stable")
        words, popcounts = words[order], popcounts[order]
        least = minimum_common(threshold, 2 * int(popcounts[-1]))
        starts = range(0, len(words), 1024)
        with ThreadPoolExecutor(workers) as pool:
            blocks = list(pool.map(lambda start: _blocked(words, popcounts, least, start, start + 1024), starts))
        left, right, shared = (np.concatenate(column) for column in zip(*blocks, strict=True))
        order[left], order[right], shared / (popcounts[left] + popcounts[right] - shared)
        return len(left)

    words = sample.words()
    join(words[:1000])
    begin = time.perf_counter()
    pair_count = join(words)
    return time.perf_counter() - begin, pair_count


@kernel
def _blocked(words: UInt64, popcounts: Int64, least: Int64, start: int, stop: int) -> tuple[Int32, Int32, Int32]:
    stop, room, pair_count = min(stop, len(words)), 1024, 0
    left, right, shared = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    for tile in range(start, len(words), 512):
        for row in range(start, stop):
            for other in range(max(tile, row + 1), min(tile + 512, len(words))):
                fewest = least[popcounts[row] + popcounts[other]]
                if fewest > popcounts[row]:
                    break
                count = common(words, row, other)
                if count < fewest:
                    continue
                if pair_count == room:
                    room *= 2
                    left, right = np.append(left, np.empty_like(left)), np.append(right, np.empty_like(right))
                    shared = np.append(shared, np.empty_like(shared))
                left[pair_count], right[pair_count], shared[pair_count] = row, other, count
                pair_count += 1
    return left[:pair_count], right[:pair_count], shared[:pair_count]


def fpsim2(sample: Sample, threshold: float, workers: int) -> tuple[float, int]:
    os.environ["TQDM_DISABLE"] = "1"
    from FPSim2 import FPSim2Engine
    from FPSim2.io import create_db_file

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "molecules.h5")
        rows = [[text.strip(), number] for number, text in enumerate(sample.smiles)]
        create_db_file(rows, path, "smiles", "Morgan", {"radius": 2, "fpSize": 2048})
        engine = FPSim2Engine(path)
        begin = time.perf_counter()
        matrix = engine.symmetric_distance_matrix(threshold, n_workers=workers)
        return time.perf_counter() - begin, matrix.nnz // 2


def fingerprint(smiles: list[str]) -> bytes:
    reader, fingerprinter = MoleculeReader(MoleculeRecipe()), Fingerprinter(MoleculeRecipe().fingerprint)
    return b"".join(fingerprinter.compute_packed(reader.read(text, "smiles")) for text in smiles)


def prepare_sample(folder: Path, count: int, workers: int) -> Sample:
    source, smiles = _moses(count) if count > _ZINC250K else molecules(count)
    path = folder / f"{len(smiles)}.npy"
    chunks = [smiles[start : start + 2000] for start in range(0, len(smiles), 2000)]
    with ProcessPoolExecutor(workers, get_context("forkserver")) as pool:
        packed = b"".join(pool.map(fingerprint, chunks))
    np.save(path, np.frombuffer(packed, "<u8").reshape(-1, MoleculeRecipe().fingerprint.words))
    return Sample(f"{len(smiles):,} of {source}", smiles, path)


def _moses(count: int) -> tuple[str, list[str]]:
    with gzip.open(_MOSES / "moses_train.csv.gz", "rt") as file:
        return "MOSES", list(islice((line.split(",")[0].strip() for line in islice(file, 1, None)), count))


def report(name: str, measured: Measured, first: Measured | None = None) -> None:
    ratio = f"{measured.seconds / first.seconds:8.1f} x ours" if first else ""
    crashes = f", crashed in {measured.crashes} of {measured.crashes + 1} tries" if measured.crashes else ""
    print(
        f"  {name:16} {measured.seconds:9.2f} s {measured.pairs:12,} pairs {measured.peak:8,.0f} MiB {ratio}{crashes}",
        flush=True,
    )


def together(sample: Sample, others: dict[str, Any], threshold: float, workers: int) -> dict[str, float]:
    """Report all joins on one sample.

    Return the seconds of the others, without one that crashed in all of its tries.
    """
    print(sample.label, flush=True)
    first = measure(ours, sample, threshold, workers)
    report("ours", first)
    seconds = {}
    for name, join in others.items():
        try:
            measured = measure(join, sample, threshold, workers)
        except Crashed as error:
            print(f"  {name:16} {error}", flush=True)
            continue
        report(name, measured, first)
        if measured.pairs != first.pairs:
            raise SystemExit(f"{name} finds {measured.pairs} pairs, ours {first.pairs}")
        seconds[name] = measured.seconds
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--alone", type=int, nargs="*", default=[_ZINC250K, 1_000_000])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--in-full", action="store_true", help="the others on all of ZINC250k too: many minutes")
    options = parser.parse_args()
    others = {"naive": naive} | ({"FPSim2": fpsim2} if find_spec("FPSim2") else {})
    if "FPSim2" not in others:
        print("FPSim2 is not installed and is left out: pip install FPSim2")
    print(f"Tanimoto ≥ {options.threshold}, {options.workers} workers", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        sample = prepare_sample(Path(folder), options.molecules, options.workers)
        seconds = together(sample, others, options.threshold, options.workers)
        for count in options.alone:
            alone = prepare_sample(Path(folder), count, options.workers)
            whole = count == _ZINC250K
            if whole and options.in_full:
                together(alone, others, options.threshold, options.workers)
                continue
            print(alone.label, flush=True)
            measured = measure(ours, alone, options.threshold, options.workers)
            report("ours", measured)
            for name in seconds if whole else ():
                scaled = seconds[name] * (len(alone.smiles) / len(sample.smiles)) ** 2
                print(f"  {name:16} {scaled:9.2f} s extrapolated {scaled / measured.seconds:24.1f} x ours", flush=True)


if __name__ == "__main__":
    main()
