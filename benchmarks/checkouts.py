"""Request rate of this checkout's server, relative to that of another checkout.

    python -m benchmarks.checkouts ../base [--molecules 20000] [--starts 8] [--blocks 40]

Both ingest the same molecules and serve them by `graphkin serve` at the same time, under the same Python. One client
sends requests to them in alternating blocks (ABBA) of some 80 ms, so that other load affects both alike. Each start is
a new pair of servers, because memory layout alone changes rates by a few percent. The output for a query is the median
over starts of the median ratio of its pairs of blocks, with the lowest and the highest start.
"""

import argparse
import http.client
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks.command import COLLECTION, OWN, build_store, served
from benchmarks.data import molecules
from benchmarks.http import Ask, block, positives_asks

_BASE = f"/v1/collections/{COLLECTION}"
_ITEMS = 0.95  # lower bound of the share of lines that are items, because some are repeated
_NEIGHBORS, _SEARCHES, _DEPICTIONS, _QUERIES, _ANCHORS = 300, 60, 40, 45, 32 * 1024  # per block
_LABEL = "[SiH3][SiH2]"  # prefix that makes an unstored molecule, because no stored one has two silicon atoms
_JSON = {"Content-Type": "application/json"}

Blocks = Callable[[int], list[Ask]]
"""Function from the number of a block, starting with 0, to its requests.

Blocks of a start share no request whose result the server would cache.
"""


def queries(lines: Sequence[str]) -> dict[str, Blocks]:
    """Return the blocks of each query, by its label.

    Args:
        lines: the stored molecules. Each line begins with a SMILES.
    """
    random = np.random.default_rng(0)
    stored_smiles = [line.split()[0] for line in lines]
    items = int(_ITEMS * len(stored_smiles))
    shuffled = random.permutation(items)
    neighbors: list[Ask] = [
        ("GET", f"{_BASE}/items/{id}/neighbors?limit=50", None, {}) for id in random.integers(0, items, _NEIGHBORS)
    ]
    searches = [_search(smiles) for smiles in stored_smiles[:_SEARCHES]]
    chains = [_LABEL + smiles for smiles in stored_smiles if smiles.startswith("CC")]
    blocks: dict[str, Blocks] = {
        "neighbors of one item, 50 at most": _same(neighbors),
        "search, top 10 of the whole collection": _same(searches),
        "search for unstored structures, top 10": lambda block: [
            _search(chains[number % len(chains)]) for number in _numbers(block, _SEARCHES)
        ],
        "items/query, a filter and a sort, 20 of all": lambda block: [
            _query(number) for number in _numbers(block, _QUERIES)
        ],
        "depictions, each drawn for the first time": lambda block: [
            ("GET", f"{_BASE}/items/{shuffled[number % items]}/depiction.svg", None, {})
            for number in _numbers(block, _DEPICTIONS)
        ],
        "export of all items, CSV": _same([_export("csv")]),
        "export of all items, Arrow": _same(4 * [_export("arrow")]),
    }
    for size in (256, 1024, 4096):
        batches = positives_asks(_BASE, size, _ANCHORS // size, items, random)
        blocks[f"positive sets, Arrow, batches of {size}"] = _same(batches)
    return blocks


def _same(asks: list[Ask]) -> Blocks:
    """Return the same requests for every block. The server must not cache their results."""
    return lambda _: asks


def _numbers(block: int, size: int) -> range:
    return range(block * size, (block + 1) * size)


def _search(smiles: str) -> Ask:
    return "POST", f"{_BASE}/search", json.dumps({"smiles": smiles, "limit": 10}), _JSON


def _query(number: int) -> Ask:
    heavy = {"property": "molwt", "min": 250 + number / 1000}
    body = {"filters": [heavy], "sort": {"by": "molwt", "descending": True}, "limit": 20}
    return "POST", f"{_BASE}/items/query", json.dumps(body), _JSON


def _export(format: str) -> Ask:
    return "GET", f"{_BASE}/export?what=items&format={format}", None, {}


def ratio(
    other: http.client.HTTPConnection, ours: http.client.HTTPConnection, asks: Blocks, blocks: int
) -> tuple[float, float]:
    """Return the median, over pairs of blocks, of the other's seconds divided by ours, and our median seconds."""
    block(other, asks(0)), block(ours, asks(0))  # warms up
    ratios, seconds = [], []
    for number in range(1, blocks + 1):
        if number % 2:
            theirs, mine = block(other, asks(number)), block(ours, asks(number))
        else:
            mine, theirs = block(ours, asks(number)), block(other, asks(number))
        ratios.append(theirs / mine)
        seconds.append(mine)
    return statistics.median(ratios), statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the other checkout's folder")
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--threshold", type=float, default=0.3, help="low, for degrees as large collections have them")
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--blocks", type=int, default=40)
    options = parser.parse_args()
    os.environ["GRAPHKIN_IDLE_SECONDS"] = "120"  # a connection is idle while the other server works
    label, lines = molecules(options.molecules)
    asks = queries(lines)
    results: dict[str, list[tuple[float, float]]] = {label: [] for label in asks}
    with tempfile.TemporaryDirectory() as folder:
        trees = [options.other.resolve(), OWN]
        stores = [
            build_store(tree, Path(folder) / side, options.molecules, "--threshold", str(options.threshold))
            for tree, side in zip(trees, ("other", "ours"), strict=True)
        ]
        for _ in range(options.starts):
            with ExitStack() as stack:
                servers = [stack.enter_context(served(*each)) for each in zip(trees, stores, strict=True)]
                other, ours = (http.client.HTTPConnection(*address, timeout=120) for address, _ in servers)
                for query, of_block in asks.items():
                    results[query].append(ratio(other, ours, of_block, options.blocks))
    print(f"{len(lines):,} of {label}, {options.starts} starts: this checkout's rate as a share of the other's")
    for query, measured in results.items():
        ratios, seconds = zip(*measured, strict=True)
        spread = f"({min(ratios):.3f}-{max(ratios):.3f})"
        print(f"  {query:44} {statistics.median(ratios):6.3f}   {spread}, blocks of {1e3 * min(seconds):.0f} ms")


if __name__ == "__main__":
    main()
