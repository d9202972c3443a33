"""What an append costs beside an ingest of everything, and a removal of the same; and what reading the generation of an
append costs beside a compact one.

    python -m benchmarks.append [--molecules 249456] [--new 1000] [--workers 2]

The same molecules are ingested at once, from which the new ones are removed, and once without these, to which they are
appended. Reading is measured in processor time, the best of three.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.data import molecules
from graphkin.ingest.append import append
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.remove import remove
from graphkin.protocol.policy import Policy
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation, Store

_ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
_ANCHORS = np.arange(20_000, dtype=np.int32)


def written(folder: Path, count: int, new: int) -> tuple[str, Path, Path]:
    """Molecules as two files: the older ones, and every so many-th as a new one."""
    source, lines = molecules(count)
    step = len(lines) // new
    files = folder / "older.smi", folder / "newer.smi"
    chosen = set(range(step - 1, step * new, step))
    for file, is_new in zip(files, (False, True), strict=True):
        file.write_text("".join(line for place, line in enumerate(lines) if (place in chosen) is is_new))
    return f"{len(lines):,} of {source}", *files


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def processor_milliseconds(work: Callable[[], object], times: int = 1) -> float:
    begin = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - begin) / times * 1000


def reading(generation: Generation) -> dict[str, float]:
    """Milliseconds of first uses, then of uses."""
    kind, recipe = kind_of(generation), resolve()
    first = {
        "first neighbours": processor_milliseconds(lambda: generation.neighbors(17)),
        "first item": processor_milliseconds(lambda: generation.items([17])),
        "first search": processor_milliseconds(lambda: kind.search(generation)),
    }
    search, sampler = kind.search(generation), generation.sampler(threads=1)
    query, policy = kind.read(recipe, _ASPIRIN, "smiles"), Policy.of("random_walk")
    uses: dict[str, tuple[Callable[[], object], int]] = {
        "neighbours": (lambda: generation.neighbors(17, limit=50), 2000),
        "search": (lambda: search.search(query, None, 10), 50),
        "positives of 20,000": (lambda: sampler.positives(_ANCHORS[: generation.size], policy, 1, 1), 5),
    }
    for work, _ in uses.values():
        work()
    then = {name: min(processor_milliseconds(*use) for _ in range(3)) for name, use in uses.items()}
    return {**first, **then}


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measure(store: Store, folder: Path, count: int, new: int, options: IngestOptions) -> None:
    label, older, newer = written(folder, count, new)
    ingest(store, "grown", [str(older)], resolve(), options)
    at_once = seconds(lambda: ingest(store, "at-once", [str(older), str(newer)], resolve(), options))
    appended = seconds(lambda: append(store, "grown", [str(newer)], options))
    first = store.collection("grown").generations[0]
    ingest(store, "smaller", [str(older), str(newer)], resolve(), options)
    listed = folder / "listed.txt"
    listed.write_text("".join(f"{line.split()[0]}\n" for line in newer.read_text().splitlines()))
    removed = seconds(lambda: remove(store, "smaller", str(listed), "smiles", options.workers))
    if store.collection("smaller").current != first:
        raise SystemExit("what is left is not what there was")
    if store.collection("grown").current != store.collection("at-once").current:
        raise SystemExit("the two generations differ")
    *_, fragment = store.manifest("grown").fragments
    added, whole = (size(folder / "store" / "collections" / place) for place in (f"grown/{fragment.folder}", "at-once"))
    print(f"{label}, {new:,} of them appended, {options.workers} workers, {os.getloadavg()[0]:.1f} processes beside")
    print(f"  ingest at once {at_once:8.1f} s  {whole / 1e6:8.1f} MB")
    print(
        f"  append         {appended:8.1f} s  {added / 1e6:8.1f} MB   1/{at_once / appended:.0f}, {added / whole:.1%}"
    )
    print(f"  remove         {removed:8.1f} s                1/{at_once / removed:.1f}")
    with store.open("grown") as grown, store.open("at-once") as once:
        of_grown, of_one = reading(grown), reading(once)
    for name, taken in of_grown.items():
        print(f"  {name:<20} {taken:9.3f} ms, in one fragment {of_one[name]:9.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=249_456)
    parser.add_argument("--new", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store", create=True) as store:
        measure(store, Path(folder), given.molecules, given.new, IngestOptions(workers=given.workers))


if __name__ == "__main__":
    main()
