"""Similarity join on a GPU: the whole join of `--device cuda`, and its kernel alone.

    python -m benchmarks.gpu_join FILE.npz --write [--molecules 249456]
    python -m benchmarks.gpu_join FILE.npz [--threshold 0.5 0.6 0.7]

The first command writes fingerprints of ZINC250k, and prints the number of pairs and the processor time of the join on
a CPU. The second needs only a GPU, numpy, numba, pydantic and torch with its Triton, and must find as many pairs.

The join goes from sorted fingerprints to pairs and similarities, both in the memory of the host. The time of the kernel
excludes copies, the selection of tiles and the reading of pairs. Picoseconds are per pair of all n (n - 1) / 2 pairs,
including those excluded by popcounts, as in `benchmarks.join`.
"""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import torch

from graphkin.similarity.cuda.blocks import BlockLoader, BlockPairs
from graphkin.similarity.cuda.fingerprints import SortedFingerprints
from graphkin.similarity.cuda.join import DeviceJoin
from graphkin.similarity.cuda.launch import Launcher
from graphkin.similarity.cuda.share import Share
from graphkin.similarity.cuda.sizes import Sizes
from graphkin.similarity.join import Pairs
from graphkin.store.records import UInt64


class Join(NamedTuple):
    """Seconds of the join and of its kernel alone, the similar pairs, and the number of multiplied pairs."""

    seconds: float
    kernel_seconds: float
    pairs: Pairs
    multiplied: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--molecules", type=int, default=249_456)
    parser.add_argument("--threshold", type=float, nargs="+", default=(0.5, 0.6, 0.7))
    options = parser.parse_args()
    if options.write:
        _write(options.file, options.molecules, options.threshold)
        return
    words = np.load(options.file)["words"]
    print(f"{len(words):,} fingerprints, {torch.cuda.get_device_name()}, torch {torch.__version__}")
    for threshold in options.threshold:
        join = measure(words, threshold, torch.device("cuda"), os.cpu_count() or 1)
        pair_count = len(words) * (len(words) - 1) / 2
        operations = 2 * 64 * words.shape[1] * join.multiplied / join.kernel_seconds
        print(
            f"τ {threshold}: {len(join.pairs):,} pairs in {join.seconds:.3f} s, "
            f"{1e12 * join.seconds / pair_count:.2f} ps a pair; "
            f"the kernel alone {join.kernel_seconds:.3f} s, {1e12 * join.kernel_seconds / pair_count:.2f} ps a pair, "
            f"{operations / 1e12:,.0f} Top/s; {join.multiplied / pair_count:.2f} of all pairs were multiplied",
            flush=True,
        )


def measure(words: UInt64, threshold: float, device: torch.device, threads: int) -> Join:
    """Join packed fingerprints (n, W) uint64 with themselves, after a run on a few that compiles the kernel.

    They are sorted before the clock starts, because an ingest has sorted them for its search index.
    """
    sizes = Sizes()
    list(DeviceJoin(SortedFingerprints.from_words(words[:1000]), None, threshold, device, sizes).pairs())
    fingerprints = SortedFingerprints.from_words(words)
    begin = time.perf_counter()
    tasks = list(DeviceJoin(fingerprints, None, threshold, device, sizes).pairs(0, threads))
    seconds = time.perf_counter() - begin
    share = Share.from_threshold(threshold, 2 * int(fingerprints.popcounts.max()))
    blocks = BlockPairs(fingerprints, None, share, sizes)
    kernel_seconds = sum(_kernel_seconds(blocks, share, sizes, device))
    return Join(
        seconds, kernel_seconds, Pairs.concatenate(tasks), int(blocks.tile_counts.sum()) * sizes.rows * sizes.columns
    )


def _kernel_seconds(blocks: BlockPairs, share: Share, sizes: Sizes, device: torch.device) -> Iterator[float]:
    """Yield the seconds of the kernel for each pair of blocks. Blocks and tiles are loaded before the clock starts."""
    loader, launcher = BlockLoader(blocks, device, 1), Launcher(share, sizes, device)
    for pair, tiles in enumerate(blocks.tile_counts.tolist()):
        loaded = loader.load(pair)
        ends = [*range(0, tiles, sizes.tiles_per_task * sizes.tasks_per_launch), tiles]
        _synchronize(device)
        begin = time.perf_counter()
        for start, stop in pairwise(ends):
            launcher.start(loaded, start, stop)
        _synchronize(device)
        yield time.perf_counter() - begin


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _write(file: Path, molecules: int, thresholds: Sequence[float]) -> None:
    from benchmarks.join import prepare_sample
    from graphkin.similarity.join import similar_pairs

    with TemporaryDirectory() as folder:
        words = prepare_sample(Path(folder), molecules, os.cpu_count() or 1).words()
    np.savez_compressed(file, words=words)
    list(similar_pairs(words[:1000], 0.5, 1))
    for threshold in thresholds:
        begin = time.process_time()
        pairs = sum(len(block) for block in similar_pairs(words, threshold, 1))
        seconds = time.process_time() - begin
        pair_count = len(words) * (len(words) - 1) / 2
        print(f"τ {threshold}: {pairs:,} pairs, {1e12 * seconds / pair_count:.0f} ps of processor time a pair")


if __name__ == "__main__":
    main()
