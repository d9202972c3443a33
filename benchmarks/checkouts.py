"""The server of another checkout and this one's, asked in turn: how much of the other's rate this one has.

    python -m benchmarks.checkouts ../base [--molecules 20000] [--starts 8] [--blocks 40]

Both ingest the same molecules and serve them by `graphkin serve`, at the same time, under the same Python; one client
asks them by turns (ABBA) in blocks of some 80 ms, so that what else the machine does meets both alike. Each start is a
new pair of servers: how their memory happens to lie is worth a few hundredths. Printed of a query is the median, over
starts, of the median ratio of its pairs of blocks, with the lowest and the highest start.
"""

import argparse
import http.client
import json
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks.command import COLLECTION, OWN, served, stored
from benchmarks.data import molecules
from benchmarks.http import Ask, block, positives_asks

_BASE = f"/v1/collections/{COLLECTION}"
_ITEMS = 0.95  # of the lines of a file are items, at least: some are repeated
_NEIGHBOURS, _SEARCHES, _ANCHORS = 300, 60, 32 * 1024  # of a block


def queries(lines: Sequence[str]) -> dict[str, list[Ask]]:
    """label -> what a block asks."""
    random = np.random.default_rng(0)
    held = [line.split()[0] for line in lines]
    items, smiles = int(_ITEMS * len(held)), held[:_SEARCHES]
    sent = {"Content-Type": "application/json"}
    asks: dict[str, list[Ask]] = {
        "neighbours of one item, 50 at most": [
            ("GET", f"{_BASE}/items/{id}/neighbors?limit=50", None, {}) for id in random.integers(0, items, _NEIGHBOURS)
        ],
        "search, top 10 of the whole collection": [
            ("POST", f"{_BASE}/search", json.dumps({"smiles": each, "limit": 10}), sent) for each in smiles
        ],
    }
    for size in (256, 1024, 4096):
        batches = positives_asks(_BASE, size, _ANCHORS // size, items, random)
        asks[f"positive sets, Arrow, batches of {size}"] = batches
    return asks


def ratio(other: http.client.HTTPConnection, ours: http.client.HTTPConnection, asks: list[Ask], blocks: int) -> float:
    """The median, over pairs of blocks, of the other's seconds by ours."""
    block(other, asks), block(ours, asks)  # warms up
    ratios = []
    for number in range(blocks):
        if number % 2:
            mine, theirs = block(ours, asks), block(other, asks)
        else:
            theirs, mine = block(other, asks), block(ours, asks)
        ratios.append(theirs / mine)
    return statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the other checkout's folder")
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--threshold", type=float, default=0.3, help="low, for degrees as large collections have them")
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--blocks", type=int, default=40)
    options = parser.parse_args()
    label, lines = molecules(options.molecules)
    asks = queries(lines)
    found: dict[str, list[float]] = {label: [] for label in asks}
    with tempfile.TemporaryDirectory() as folder:
        trees = [options.other.resolve(), OWN]
        stores = [
            stored(tree, Path(folder) / side, options.molecules, "--threshold", str(options.threshold))
            for tree, side in zip(trees, ("other", "ours"), strict=True)
        ]
        for _ in range(options.starts):
            with ExitStack() as stack:
                servers = [stack.enter_context(served(*each)) for each in zip(trees, stores, strict=True)]
                other, ours = (http.client.HTTPConnection(*address, timeout=120) for address, _ in servers)
                for query, of_block in asks.items():
                    found[query].append(ratio(other, ours, of_block, options.blocks))
    print(f"{len(lines):,} of {label}, {options.starts} starts: this checkout's rate as a share of the other's")
    for query, ratios in found.items():
        print(f"  {query:44} {statistics.median(ratios):6.3f}   ({min(ratios):.3f}-{max(ratios):.3f})")


if __name__ == "__main__":
    main()
