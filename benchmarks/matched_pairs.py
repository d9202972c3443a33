"""Matched pairs: seconds to find them, to update them after an append of 100 molecules, and to summarize a property.

    python -m benchmarks.matched_pairs [--molecules 4000] [--processes 2]

The first line is the processor time of cutting the first molecules in one process, which other work on the machine
changes least. The other seconds are those of the wall. The peak is that of the main process, which holds all
fragmentations and pairs.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TypeVar, cast

import numpy as np
from rdkit import Chem

from benchmarks.data import molecules
from graphkin.collection.sar.matched_pairs.blocks import Fragments
from graphkin.collection.sar.matched_pairs.index import MatchedPairs, cached_matched_pairs
from graphkin.collection.sar.matched_pairs.ranking import Transformations
from graphkin.store.base import Generation
from graphkin.store.records import Int32

_APPENDED = 100
_CUT = 500  # molecules that one process cuts

T = TypeVar("T")


class Molecules:
    """The part of a generation that the index reads."""

    def __init__(self, smiles: list[str]) -> None:
        self.size = len(smiles)
        self.id = sha256("\n".join(smiles).encode()).hexdigest()
        self._smiles = smiles

    def structures(self, ids: Int32) -> Iterator[str]:
        """Return the structures of items."""
        return (self._smiles[id] for id in ids.tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=4000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    source, lines = molecules(options.molecules + _APPENDED)
    smiles = [*dict.fromkeys(Chem.MolToSmiles(Chem.MolFromSmiles(line.split()[0])) for line in lines)]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        print(f"{len(smiles) - _APPENDED:,} of {source}; load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
        before, first = time.process_time(), smiles[:_CUT]
        Fragments.from_smiles(first)
        milliseconds = (time.process_time() - before) / len(first) * 1000
        print(f"  {'cut, per molecule':36} {milliseconds:7.2f} ms of a processor", flush=True)
        find = _finder(options.processes)
        _measure("found", lambda: find(smiles[:-_APPENDED]))
        pairs = _measure(f"updated after an append of {_APPENDED}", lambda: find(smiles))
        weights = np.array([len(each) for each in smiles], np.float64)
        summary = _measure("property summarized", lambda: Transformations(pairs).summarize(weights, 3))
    print(f"  {len(pairs.source):,} transformations, {len(summary):,} of at least 3 pairs; {len(pairs.a):,} pairs")
    print(f"  peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def _finder(processes: int) -> Callable[[list[str]], MatchedPairs]:
    return lambda smiles: cached_matched_pairs(cast("Generation", Molecules(smiles)), processes)


def _measure(name: str, work: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = work()
    print(f"  {name:36} {time.perf_counter() - start:7.2f} s", flush=True)
    return result


if __name__ == "__main__":
    main()
