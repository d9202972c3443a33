"""R groups, matched pairs, clusters, scaffolds and descriptors: seconds of the first request, and after an append.

    python -m benchmarks.sar [--molecules 4000] [--new 100] [--sets 23]

It prints the rows of a table. The wall time depends on the other work on the machine, the processor time of all
processes hardly does. Everything runs once with few molecules before the clock starts, so compiling and starting worker
processes do not count. R groups are those of 100 molecules of a series, whose core is their maximum common
substructure:

- the PI3K inhibitors of the documentation
- the largest cluster of each MoleculeACE set of ../shared

All other rows are about molecules of ZINC250k. The peak is that of the main process, which holds all matched pairs.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import graphkin
from benchmarks.data import SHARED, molecules
from benchmarks.machine import processor_seconds
from graphkin.library.rgroups import RGroupTable

_SERIES = 100
_PI3K = Path(__file__).parents[1] / "docs/assets/pi3k-alpha.csv"
_PI3K_CORE = "Cc1nc(N)nc(-c2cccnc2N)n1"

T = TypeVar("T")


class Cost(NamedTuple):
    """Seconds of the wall, and of the processor in all processes."""

    wall: float
    processor: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=4000)
    parser.add_argument("--new", type=int, default=100)
    parser.add_argument("--sets", type=int, default=23)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/user"
        _warm_up()
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        print("| operation | result | wall, s | processor, s |\n|---|---|---|---|")
        _run_inhibitors()
        _run_sets(options.sets)
        _run_zinc(Path(folder), options.molecules, options.new)
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


def _warm_up() -> None:
    with graphkin.ingest([f"{'C' * number}Oc1ccccc1" for number in range(1, 9)]) as collection:
        collection.append(["CC(C)Oc1ccccc1"])
        collection.matched_pairs("molwt")
        collection.clusters()
        collection.scaffold_tree()
        collection.descriptors()
        collection.rgroups(property="molwt").free_wilson()


def _run_inhibitors() -> None:
    with graphkin.ingest(_PI3K) as series:
        ids = series.query(substructure=_PI3K_CORE, limit=_SERIES)["id"].to_pylist()
        groups, cost = _measure(lambda: series.rgroups(ids=ids, property="pKi"))
        _print_row("R groups of PI3K inhibitors", _describe(groups), cost, limit=2)
        fit, cost = _measure(groups.free_wilson)
        _print_row("Free-Wilson contributions", f"{len(fit.contributions)} R groups", cost)


def _run_sets(count: int) -> None:
    """Find the R groups of the largest cluster of MoleculeACE sets."""
    costs = dict[str, tuple[Cost, str]]()
    for file in sorted((SHARED / "moleculeace").glob("*.csv"))[:count]:
        with graphkin.ingest(file) as collection:
            ids = collection.cluster(1, limit=_SERIES)["id"].to_pylist()
            groups, cost = _measure(lambda c=collection, i=ids: c.rgroups(ids=i))  # type: ignore[misc]
            costs[file.stem] = cost, _describe(groups)
    ordered = sorted(costs, key=lambda name: costs[name][0].processor)
    for label, name in zip(("median", "slowest"), (*ordered[len(ordered) // 2 :][:1], *ordered[-1:]), strict=False):
        cost, result = costs[name]
        _print_row(f"R groups of clusters of {len(costs)} sets, {label}", f"{name}: {result}", cost, limit=2)


def _run_zinc(folder: Path, count: int, new: int) -> None:
    """Request everything of a collection once, and matched pairs and clusters again after an append."""
    source, lines = molecules(count + new)
    smiles = [line.split()[0] for line in lines]
    collection = graphkin.ingest(smiles[:-new], store=folder / "store", collection="c")
    name = f"{collection.size:,} of {source}"
    transformations, cost = _measure(lambda: collection.matched_pairs("molwt"))
    _print_row(
        f"matched pairs of {name}", f"{len(transformations):,} transformations", cost, 30 if count == 4000 else 0
    )
    clusters, cost = _measure(collection.clusters)
    _print_row(f"clusters of {name}", f"{len(clusters):,} clusters", cost)
    scaffolds, cost = _measure(collection.scaffold_tree)
    _print_row(f"scaffold tree of {name}", f"{len(scaffolds):,} scaffolds", cost)
    _, cost = _measure(collection.descriptors)
    _print_row(f"descriptors of {name}", "11 columns", cost)

    _, appended = _measure(lambda: collection.append(smiles[-new:]))
    _print_row(f"append of {new:,}", f"{collection.size:,} molecules", appended)
    transformations, found = _measure(lambda: collection.matched_pairs("molwt"))
    _print_row("matched pairs after it", f"{len(transformations):,} transformations", found)
    clusters, clustered = _measure(collection.clusters)
    _print_row("clusters after it", f"{len(clusters):,} clusters", clustered)
    total = Cost(*(sum(each) for each in zip(appended, found, clustered, strict=True)))
    _print_row("these three", "", total, 5 if count == 4000 else 0)
    _, cost = _measure(lambda: collection.matched_pairs("molwt"))
    _print_row("matched pairs, again", "", cost)


def _describe(groups: RGroupTable) -> str:
    matched = len(groups.table)
    return f"{matched} of {matched + len(groups.unmatched)} molecules, {len(groups.positions)} positions"


def _measure(work: Callable[[], T]) -> tuple[T, Cost]:
    start, processor = time.perf_counter(), processor_seconds(os.getpid())
    result = work()
    return result, Cost(time.perf_counter() - start, processor_seconds(os.getpid()) - processor)


def _print_row(operation: str, result: str, cost: Cost, limit: float = 0) -> None:
    """Print a row of the table. Without a limit, `limit` is 0."""
    verdict = "" if not limit else f" (under {limit:g}{'' if cost.wall < limit else ': NOT'})"
    print(f"| {operation} | {result} | {cost.wall:.2f}{verdict} | {cost.processor:.2f} |", flush=True)


if __name__ == "__main__":
    main()
