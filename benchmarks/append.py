"""Cost of an append compared with a full ingest, of a removal, and of reading a generation after many appends.

    python -m benchmarks.append [--molecules 249456] [--new 1000] [--appends 50] [--rounds 3] [--workers 2]

Ingests and appends alternate, in this process and as commands, so that other load affects both. Reads from the
appended generation alternate with reads from a compact one, and are measured in processor time.
"""

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.command import graphkin
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
_ANCHORS = 20_000

Milliseconds = dict[str, float]


def write_files(folder: Path, count: int, new: int, appends: int) -> tuple[str, Path, Path, list[Path]]:
    """Write the older molecules to one file, evenly spread new ones to another, and these again to several files."""
    source, lines = molecules(count)
    step = len(lines) // new
    new_places = set(range(step - 1, step * new, step))
    older, newer = folder / "older.smi", folder / "newer.smi"
    for file, is_new in ((older, False), (newer, True)):
        file.write_text("".join(line for place, line in enumerate(lines) if (place in new_places) is is_new))
    parts = [folder / f"newer-{number}.smi" for number in range(appends)]
    for part, lines_of_part in zip(
        parts, np.array_split(newer.read_text().splitlines(keepends=True), appends), strict=True
    ):
        part.write_text("".join(lines_of_part))
    return f"{len(lines):,} of {source}", older, newer, parts


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


Run = Callable[[Path, list[str]], object]


def commands(workers: int) -> tuple[Run, Run]:
    """Return functions that ingest and append files, each in a process of its own."""

    def run(folder: Path, *words: str) -> None:
        location = "--store", folder, "--collection", "c", "--workers", str(workers)
        subprocess.run(graphkin(*words, *location), check=True, capture_output=True)

    return lambda folder, files: run(folder, "ingest", "molecules", *files), lambda folder, files: run(
        folder, "append", *files
    )


def calls(options: IngestOptions) -> tuple[Run, Run]:
    """Return functions that ingest and append files in this process."""

    def build(folder: Path, files: list[str]) -> None:
        with open_store(folder, create=True) as store:
            ingest(store, "c", files, resolve(), options)

    def grow(folder: Path, files: list[str]) -> None:
        with open_store(folder) as store:
            append(store, "c", files, options)

    return build, grow


def in_turns(folder: Path, older: str, newer: str, rounds: int, options: IngestOptions) -> None:
    """Alternate between ingesting both files and appending one to a copy of the other's generation.

    The last results are left in the subfolders `once` and `grown`.
    """
    before, once, grown = folder / "before", folder / "once", folder / "grown"
    ways = {"in process": calls(options), "as commands": commands(options.workers)}
    ways["in process"][0](before, [older])
    seconds_by_way: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, (build, grow) in ways.items():
            shutil.rmtree(once, ignore_errors=True)
            shutil.rmtree(grown, ignore_errors=True)
            shutil.copytree(before, grown)
            seconds_by_way[way].append(
                (seconds(partial(build, once, [older, newer])), seconds(partial(grow, grown, [newer])))
            )
            with open_store(once) as whole_store, open_store(grown) as grown_store:
                if whole_store.collection("c").current != grown_store.collection("c").current:
                    raise SystemExit("the two generations differ")
    for way, pairs in seconds_by_way.items():
        whole, added = (median(column) for column in zip(*pairs, strict=True))
        ratios = ", ".join(f"1/{first / second:.1f}" for first, second in pairs)
        print(f"  {way:<12} ingest {whole:6.2f} s, append {added:5.2f} s: 1/{whole / added:.1f} ({ratios})")
    of_one, of_more = size(once), size(grown) - size(before)
    print(f"  on the disk  {of_one / 1e6:.1f} MB, and {of_more / 1e6:.1f} MB more: {of_more / of_one:.1%}")


def removal(store: Store, folder: Path, newer: Path, workers: int) -> None:
    """Remove the molecules that were ingested last."""
    list_file = folder / "listed.txt"
    list_file.write_text("".join(f"{line.split()[0]}\n" for line in newer.read_text().splitlines()))
    print(f"  remove {seconds(lambda: remove(store, 'c', str(list_file), 'smiles', workers)):.2f} s")


def processor_milliseconds(work: Callable[[], object], times: int = 1) -> float:
    begin = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - begin) / times * 1000


def first_uses(store: Store) -> Milliseconds:
    """Measure each first use after opening."""
    with store.open("c") as generation:
        return {
            "first neighbours": processor_milliseconds(lambda: generation.neighbors(17)),
            "first item": processor_milliseconds(lambda: generation.items([17])),
            "first search": processor_milliseconds(lambda: kind_of(generation).search(generation)),
        }


def uses(generation: Generation) -> Callable[[], Milliseconds]:
    """Return a function that measures repeated uses."""
    search, sampler = kind_of(generation).search(generation), generation.sampler(threads=1)
    query, policy = kind_of(generation).read(resolve(), _ASPIRIN, "smiles"), Policy.from_name("random_walk")
    anchors = np.arange(min(_ANCHORS, generation.size), dtype=np.int32)
    works: dict[str, tuple[Callable[[], object], int]] = {
        "neighbours": (lambda: generation.neighbors(17, limit=50), 5000),
        "items": (lambda: generation.items([17, 1700]), 2000),
        "search": (lambda: search.search(query, None, 10), 100),
        f"positives of {len(anchors):,}": (lambda: sampler.positives(anchors, policy, 1, 1), 10),
    }
    for work, _ in works.values():
        work()
    return lambda: {name: processor_milliseconds(*use) for name, use in works.items()}


def compare_uses(grown: Callable[[], Milliseconds], compact: Callable[[], Milliseconds], turns: int) -> None:
    """Print the best times of both generations, which alternate."""
    pairs = [(grown(), compact()) for _ in range(turns)]
    for name in pairs[0][0]:
        of_grown, of_compact = (min(pair[side][name] for pair in pairs) for side in (0, 1))
        print(f"  {name:<20} {of_grown:9.3f} ms, compact {of_compact:9.3f} ms: {of_grown / of_compact - 1:+.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=249_456)
    parser.add_argument("--new", type=int, default=1000)
    parser.add_argument("--appends", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    options = IngestOptions(workers=arguments.workers)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        label, older, newer, parts = write_files(folder, arguments.molecules, arguments.new, arguments.appends)
        load = os.getloadavg()[0]
        print(f"{label}, {arguments.new:,} of them new, {arguments.workers} workers, {load:.1f} processes beside")
        in_turns(folder, str(older), str(newer), arguments.rounds, options)
        with open_store(folder / "before") as often, open_store(folder / "once") as once:
            append_seconds = [seconds(partial(append, often, "c", [str(part)], options)) for part in parts]
            if often.collection("c").current != once.collection("c").current:
                raise SystemExit(f"{len(parts)} appends give another generation")
            typical, last = median(append_seconds), append_seconds[-1]
            print(f"  {len(parts)} appends of these, the median {typical:.2f} s, the last {last:.2f} s; then")
            compare_uses(partial(first_uses, often), partial(first_uses, once), 3)
            with often.open("c") as grown, once.open("c") as compact:
                compare_uses(uses(grown), uses(compact), 9)
            removal(once, folder, newer, arguments.workers)


if __name__ == "__main__":
    main()
