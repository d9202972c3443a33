"""How many pairs of molecules different bounds rule out without a comparison.

    python -m benchmarks.bounds [--count 1000000] [--zinc] [--pairs 200000]

Each bound is exact: it rules out only pairs below the threshold. The shares are of random pairs that the popcounts
allow. "groups" is a share of comparisons of a molecule with a tile of 512 others, which the join rules out by the bits
of groups of 32. Time is processor time of the join on one thread.

- parts: the bits are divided into parts. Two fingerprints have at most the smaller popcount of each part in common.
- pivots: the Jaccard distance is a metric. The distances of two fingerprints to a pivot differ by at most their own.
"""

import argparse
import time

import numpy as np

from benchmarks.data import molecules
from benchmarks.molecules import generate
from graphkin.library.inputs import compute_fingerprints
from graphkin.similarity.join import SelfJoin
from graphkin.similarity.planes import GROUP, TILE, BitPlanes
from graphkin.similarity.popcount import common_with, row_popcounts
from graphkin.store.records import Float64, Int64, UInt64

THRESHOLDS = (0.5, 0.6, 0.7, 0.8)
PARTS = (2, 4, 8, 16, 32)
PIVOTS = (16, 256)
_TILES = 20_000  # random items and tiles


def part_bound(words: UInt64, left: Int64, right: Int64, parts: int) -> Int64:
    """Return an upper bound on the common bits of each pair, (P,), from the popcounts of equal parts of the bits."""
    counts = np.bitwise_count(words).reshape(len(words), parts, -1).sum(axis=2)
    bound: Int64 = np.minimum(counts[left], counts[right]).sum(axis=1)
    return bound


def pivot_bound(words: UInt64, popcounts: Int64, left: Int64, right: Int64, pivots: Int64) -> Float64:
    """Return an upper bound on the similarity of each pair, (P,), from the distances to pivots."""
    bound = np.ones(len(left))
    for pivot in pivots:
        shared = common_with(words, words[pivot])
        similarity = shared / (popcounts + popcounts[pivot] - shared)
        bound = np.minimum(bound, 1 - np.abs(similarity[left] - similarity[right]))
    return bound


def share_of_tiles(words: UInt64, planes: BitPlanes, threshold: float, random: np.random.Generator) -> float:
    """Return the share of random items and tiles for which the groups of the tile rule out all its items."""
    ruled_out = compared = 0
    for tile, row in zip(
        random.integers(0, len(words) // TILE, _TILES), random.integers(0, len(words), _TILES), strict=True
    ):
        positions = slice(TILE * tile, TILE * (tile + 1))
        least, most = planes.popcounts[positions][[0, -1]]
        row_popcount = int(np.bitwise_count(words[row]).sum())
        if most < threshold * row_popcount or row_popcount < threshold * least:
            continue
        groups = np.bitwise_or.reduce(words[planes.order[positions]].reshape(TILE // GROUP, GROUP, -1), axis=1)
        shared = np.bitwise_count(groups & words[row]).sum(axis=1).max()
        compared += 1
        ruled_out += shared < threshold * (row_popcount + least - shared)
    return ruled_out / compared


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--zinc", action="store_true", help="molecules of ZINC250k instead of generated ones")
    parser.add_argument("--pairs", type=int, default=200_000)
    options = parser.parse_args()
    smiles = molecules(options.count)[1] if options.zinc else list(generate(options.count))
    words = compute_fingerprints([line.split()[0] for line in smiles])
    popcounts, random = row_popcounts(words), np.random.default_rng(0)
    left, right = random.integers(0, len(words), (2, options.pairs))
    smaller, larger = np.minimum(popcounts[left], popcounts[right]), np.maximum(popcounts[left], popcounts[right])
    common_bounds = {parts: part_bound(words, left, right, parts) for parts in PARTS}
    similarity_bounds = {
        count: pivot_bound(words, popcounts, left, right, random.integers(0, len(words), count)) for count in PIVOTS
    }
    planes = BitPlanes.from_words(words)
    sum(len(pairs) for pairs in SelfJoin(words[:2_000], 0.5).pairs())  # compiles the kernels
    for threshold in THRESHOLDS:
        allowed = smaller >= threshold * larger
        columns = [f"popcounts allow {allowed.mean():.3f}"]
        for count, shared in common_bounds.items():
            ruled_out = shared < threshold * (smaller + larger - shared)
            columns.append(f"{count} parts {ruled_out[allowed].mean():.3f}")
        columns += [
            f"{count} pivots {(bound < threshold)[allowed].mean():.3f}" for count, bound in similarity_bounds.items()
        ]
        join = SelfJoin(words, threshold, planes)
        begin = time.process_time()
        pairs = sum(len(pairs) for pairs in join.pairs())
        seconds = time.process_time() - begin
        columns.append(f"groups {share_of_tiles(words, planes, threshold, random):.3f}")
        columns.append(f"{pairs:,} pairs in {seconds:.1f} s")
        print(f"similarity ≥ {threshold}: {', '.join(columns)}", flush=True)


if __name__ == "__main__":
    main()
