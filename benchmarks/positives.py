"""Positive sets per second, in process.

    python -m benchmarks.positives [--molecules 20000] [--threshold 0.3] [--anchors 200000] [--repeat 5]

Each policy samples for `anchors` anchors (every item in turn) of an ingested collection. It does so in batches of 256
on one thread, as the API serves them, and in one call on all threads, as an epoch is built. Compilation is not timed.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.data import smiles_file
from graphkin.ingest.pipeline import ingest
from graphkin.protocol.policy import Policy
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.records import Int32
from graphkin.store.sampling.snapshot import SnapshotSampler

_BATCH = 256
_POLICIES = {
    "random_walk, length 2, 5 walks, k 5": Policy.from_name("random_walk", length=2, walks=5),
    "the same, p 0.5, q 2": Policy.from_name("random_walk", length=2, walks=5, p=0.5, q=2.0),
    "first_order, k 3": Policy.from_name("first_order"),
    "second_order, k 3": Policy.from_name("second_order"),
}


def rate(draw: Callable[[int], None], anchors: int, repeat: int) -> float:
    """Return the median number of positive sets per second."""
    draw(-1)
    times = []
    for epoch in range(repeat):
        begin = time.perf_counter()
        draw(epoch)
        times.append(time.perf_counter() - begin)
    return anchors / statistics.median(times)


def measure(sampler: SnapshotSampler, anchors: Int32, policy: Policy, repeat: int) -> tuple[float, float]:
    def batches(epoch: int) -> None:
        for start in range(0, len(anchors), _BATCH):
            sampler.positives(anchors[start : start + _BATCH], policy, 0, max(epoch, 0))

    def at_once(epoch: int) -> None:
        sampler.positives(anchors, policy, 0, max(epoch, 0))

    return rate(batches, len(anchors), repeat), rate(at_once, len(anchors), repeat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--threshold", type=float, default=0.3, help="low, for degrees as large collections have them")
    parser.add_argument("--anchors", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store", create=True) as store:
        label, path = smiles_file(Path(folder), options.molecules)
        manifest = ingest(store, "benchmark", [str(path)], resolve(threshold=options.threshold))
        with store.open("benchmark") as generation:
            sampler = SnapshotSampler(generation.graph(), generation.id)
            anchors = np.resize(np.arange(generation.size, dtype=np.int32), options.anchors)
            degree = 2 * manifest.edges / generation.size
            print(f"{label}, mean degree {degree:.1f}, {len(anchors):,} anchors, median of {options.repeat}")
            print(f"  {'sets per second':36} {'batches of 256':>16} {'one call':>12}")
            for name, policy in _POLICIES.items():
                in_batches, at_once = measure(sampler, anchors, policy, options.repeat)
                print(f"  {name:36} {in_batches:16,.0f} {at_once:12,.0f}")


if __name__ == "__main__":
    main()
