"""Cost of checking the files of a generation before their use: `python -m benchmarks.checks STORE NAME`.

Opens the generation ten times and prints the best times, which are those with a warm page cache.
"""

import argparse
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from time import perf_counter

from graphkin.store import csr, open_store
from graphkin.store.base import Generation, Store

USES: dict[str, Callable[[Generation], object]] = {
    "graph": methodcaller("graph"),
    "items": methodcaller("items", [0]),
    "fingerprints": methodcaller("fingerprints"),
    "search index": methodcaller("index"),
    "forest": methodcaller("forest"),
}


def time_uses(store: Store, collection: str) -> dict[str, float]:
    """Return the seconds of opening, of each first use, and of a complete scrub instead."""
    begin = perf_counter()
    with store.open(collection) as generation:
        seconds = {"open": perf_counter() - begin}
        for name, use in USES.items():
            begin = perf_counter()
            use(generation)
            seconds[name] = perf_counter() - begin
    with store.open(collection) as generation:
        begin = perf_counter()
        list(generation.scrub())
        seconds["scrub"] = perf_counter() - begin
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("collection")
    options = parser.parse_args()
    with open_store(options.store) as store:
        with store.open(options.collection) as generation:
            csr.flaw(generation.graph())  # compiled
            size = generation.size
        runs = [time_uses(store, options.collection) for _ in range(10)]
        folder = options.store / "collections" / options.collection / store.collection(options.collection).current
    byte_count = sum(file.stat().st_size for file in folder.iterdir())
    best = {name: min(run[name] for run in runs) for name in runs[0]}
    print(f"{size:,} items, {byte_count / 1e6:.1f} MB")
    for name, seconds in best.items():
        print(f"  {name:13} {1000 * seconds:8.2f} ms")
    print(f"  SHA-256 of all: {byte_count / best['scrub'] / 1e9:.2f} GB/s")


if __name__ == "__main__":
    main()
