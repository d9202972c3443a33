"""Leaks of published splits, and of the splits that different methods make of the same data.

    python -m studies.split_audit published [--figure FILE.svg]
    python -m studies.split_audit methods [--sets bbbp bace hiv] [--threshold 0.6] [--datasail PYTHON]

`published` audits the random and the scaffold split of each set of MoleculeNet, which the benchmark defines by code,
the split that ships with BACE, and those that ship with MoleculeACE. For each it prints the share of the test molecules
with a training neighbor that reaches a similarity. The validation part counts for neither side.

`methods` splits the same molecules 80:20 by chance, by scaffold, by Butina clusters, by DataSAIL and by graphkin, and
prints sizes, test molecules with a training neighbor, discarded molecules and seconds. --datasail names the Python of
an environment in which `pip install datasail` has run. Its seconds include its own fingerprints and one CPU core; the
other times are from fingerprints on, and for scaffolds from SMILES on.

Both need ../shared/data and the extra `studies`. Fingerprints are Morgan's, radius 2, 2,048 bits.
"""

import argparse
import csv
import gzip
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import SHARED
from graphkin.collection.clusters.butina import clusters_from_pairs
from graphkin.library.inputs import read_fingerprints
from graphkin.library.leakage import Leakage, leaking_pairs
from graphkin.library.splits import Splitter
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import SplitMethod
from graphkin.similarity.join import SelfJoin
from graphkin.store.records import Int64, UInt64
from graphkin.trainer.downstream.scaffold import scaffolds
from graphkin.trainer.downstream.split import group_split, random_split

SETS = ("bbbp", "bace", "clintox", "sider", "tox21", "toxcast", "hiv")
_FILES = {
    "bbbp": "BBBP.csv",
    "bace": "bace.csv.gz",
    "clintox": "clintox.csv",
    "sider": "sider.csv",
    "tox21": "tox21.csv.gz",
    "toxcast": "toxcast_data.csv.gz",
    "hiv": "HIV.csv.gz",
}
LEVELS = (0.6, 0.7, 0.8, 1.0)
_TEST = 0.2
_THREADS = os.cpu_count() or 1

Labels = NDArray[np.int64]


class Molecules(NamedTuple):
    """The readable molecules of a file.

    Attributes:
        smiles: (n,) SMILES.
        words: (n, W) uint64 packed fingerprints.
        part: (n,) "train", "test" or another word of the column of a published split; "" without such a column.
    """

    smiles: list[str]
    words: UInt64
    part: NDArray[np.str_]


def read(path: Path, column: str | None = None) -> Molecules:
    """Return the molecules of a CSV file, without those that RDKit cannot read."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        rows = [*csv.DictReader(file)]
    fingerprints = read_fingerprints([row["smiles"] for row in rows])
    readable = np.setdiff1d(np.arange(len(rows)), fingerprints.rejected)
    parts = [rows[row][column].lower() if column else "" for row in readable]
    return Molecules([rows[row]["smiles"] for row in readable], fingerprints.words[readable], np.array(parts))


class Audit(NamedTuple):
    """The leaks of a split.

    Attributes:
        name: The split.
        train: Number of training molecules.
        test: Number of test molecules.
        reached: Number of test molecules with a training neighbor that reaches each of `LEVELS`.
    """

    name: str
    train: int
    test: int
    reached: tuple[int, ...]

    @property
    def shares(self) -> list[float]:
        return [count / self.test for count in self.reached]


def audit(name: str, words: UInt64, train: Int64, test: Int64) -> Audit:
    pairs = leaking_pairs(words[train], words[test], LEVELS[0], _THREADS)
    nearest = Leakage.from_pairs(pairs, len(test), LEVELS[0]).nearest
    return Audit(name, len(train), len(test), tuple(int((nearest >= level).sum()) for level in LEVELS))


def moleculenet() -> Iterator[Audit]:
    """Yield the audits of MoleculeNet's random and scaffold splits, 8:1:1, and of the split that BACE ships with."""
    for name in SETS:
        molecules = read(SHARED / "moleculenet" / _FILES[name], "Model" if name == "bace" else None)
        chance, scaffold = random_split(len(molecules.smiles)), group_split(scaffolds(molecules.smiles))
        yield audit(f"{name} random", molecules.words, chance.train, chance.test)
        yield audit(f"{name} scaffold", molecules.words, scaffold.train, scaffold.test)
        if name == "bace":
            yield audit("bace as shipped", molecules.words, *_published(molecules))


def moleculeace() -> Iterator[Audit]:
    """Yield the audits of MoleculeACE's splits."""
    for path in sorted((SHARED / "moleculeace").glob("*.csv")):
        molecules = read(path, "split")
        yield audit(path.stem, molecules.words, *_published(molecules))


def _published(molecules: Molecules) -> tuple[Int64, Int64]:
    return np.flatnonzero(molecules.part == "train"), np.flatnonzero(molecules.part == "test")


def draw(audits: Sequence[Audit], file: Path) -> None:
    """Draw the shares of test molecules with a training neighbor, as one bar per split."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "graphkin"
    figure = Figure(figsize=(7.5, 0.22 * len(audits) + 1.2), layout="constrained")
    axes = figure.subplots()
    shades = ("#c6dbef", "#6baed6", "#2171b5", "#08306b")
    for level, (similarity, shade) in enumerate(zip(LEVELS, shades, strict=True)):
        shares = [100 * each.shares[level] for each in audits]
        axes.barh(range(len(audits)), shares, color=shade, label=f"≥ {similarity:g}" if similarity < 1 else "1")
    axes.set_yticks(range(len(audits)), [each.name for each in audits], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.margins(y=0.01)
    axes.set_xlabel("% of the test molecules with a training neighbor of this similarity")
    axes.legend(title="similarity", loc="lower right", fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(file, format="svg", metadata={"Date": None})


class Result(NamedTuple):
    """A split that a method made: positions, discarded molecules and seconds."""

    train: Int64
    test: Int64
    discarded: int
    seconds: float


def by_chance(molecules: Molecules, _: float) -> tuple[Int64, Int64, int]:
    order = np.random.default_rng(0).permutation(len(molecules.smiles))
    count = int(np.ceil(_TEST * len(order)))
    return order[count:], order[:count], 0


def by_scaffold(molecules: Molecules, _: float) -> tuple[Int64, Int64, int]:
    labels = np.unique(scaffolds(molecules.smiles), return_inverse=True)[1]
    return _whole_groups(labels.astype(np.int64))


def by_butina(molecules: Molecules, threshold: float) -> tuple[Int64, Int64, int]:
    pairs = SelfJoin(molecules.words, threshold).pairs(0, _THREADS)
    tie = np.arange(len(molecules.words), dtype=np.uint64)
    return _whole_groups(clusters_from_pairs(pairs, tie).label.astype(np.int64))


def by_graphkin(method: SplitMethod) -> Callable[[Molecules, float], tuple[Int64, Int64, int]]:
    def split(molecules: Molecules, threshold: float) -> tuple[Int64, Int64, int]:
        result = Splitter(molecules.words, threshold, 0, _THREADS).split(_TEST, method)
        return result.train, result.test, len(result.discarded)

    return split


def _whole_groups(labels: Labels) -> tuple[Int64, Int64, int]:
    """Assign whole groups, in random order, to the test set while they fit."""
    sizes = np.bincount(labels)
    room, test_groups = int(np.ceil(_TEST * len(labels))), list[int]()
    for group in np.random.default_rng(0).permutation(len(sizes)):
        if sizes[group] <= room:
            test_groups.append(group)
            room -= sizes[group]
    is_test = np.isin(labels, test_groups)
    return np.flatnonzero(~is_test), np.flatnonzero(is_test), 0


_DATASAIL = """
import json, sys
from datasail.sail import datasail
smiles = json.load(open(sys.argv[1]))
splits, *_ = datasail(
    techniques=["C1e"], splits=[8, 2], names=["train", "test"], runs=1, solver="SCIP", e_type="M",
    e_data={str(i): text for i, text in enumerate(smiles)}, max_sec=int(sys.argv[3]), threads=1, verbose="E",
)
json.dump(splits["C1e"][0], open(sys.argv[2], "w"))
"""


def by_datasail(python: str, seconds: int) -> Callable[[Molecules, float], tuple[Int64, Int64, int]]:
    """Return the split by DataSAIL's similarity clusters of molecules (technique C1e), in an environment of its own."""

    def split(molecules: Molecules, _: float) -> tuple[Int64, Int64, int]:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "smiles.json"), Path(folder, "split.json")
            source.write_text(json.dumps(molecules.smiles))
            command = [python, "-c", _DATASAIL, str(source), str(target), str(seconds)]
            subprocess.run(
                command,
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=20 * seconds,
            )
            part = json.loads(target.read_text())
        labels = np.array([part.get(str(row), "discarded") for row in range(len(molecules.smiles))])
        train, test = (np.flatnonzero(labels == name) for name in ("train", "test"))
        return train, test, len(labels) - len(train) - len(test)

    return split


def compare(names: Sequence[str], threshold: float, datasail: str | None, seconds: int) -> None:
    """Print one row of a table for each set and method."""
    methods: dict[str, Callable[[Molecules, float], tuple[Int64, Int64, int]]] = {
        "random": by_chance,
        "scaffold": by_scaffold,
        "Butina": by_butina,
        **({"DataSAIL": by_datasail(datasail, seconds)} if datasail else {}),
        "graphkin components": by_graphkin("components"),
        "graphkin min-discard": by_graphkin("min-discard"),
    }
    print(f"| set | method | train | test | test with a training neighbor ≥ {threshold:g} | discarded | s |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        molecules = read(SHARED / "moleculenet" / _FILES[name])
        Splitter(molecules.words[:300], threshold, 0, 1).split(_TEST, "min-discard")  # compiles
        for method, split in methods.items():
            begin = time.perf_counter()
            try:
                train, test, discarded = split(molecules, threshold)
            except (InvalidInput, subprocess.SubprocessError) as error:
                reason = error.detail if isinstance(error, InvalidInput) else type(error).__name__
                print(f"| {name} | {method} | {reason} | | | | |", flush=True)
                continue
            taken = time.perf_counter() - begin
            pairs = leaking_pairs(molecules.words[train], molecules.words[test], threshold, _THREADS)
            leaking = Leakage.from_pairs(pairs, len(test), threshold).test[0]
            print(
                f"| {name} | {method} | {len(train):,} | {len(test):,} | {leaking:,} ({leaking / len(test):.1%}) | "
                f"{discarded:,} | {taken:.2g} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["published", "methods"])
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["bbbp", "bace", "hiv"])
    parser.add_argument("--threshold", type=float, default=0.6)
    parser.add_argument("--datasail", metavar="PYTHON")
    parser.add_argument("--datasail-seconds", type=int, default=60, help="time limit of DataSAIL's solver")
    options = parser.parse_args()
    if not (SHARED / "moleculenet").is_dir():
        parser.error("../shared/data/moleculenet is missing: there is nothing to split")
    if options.part == "methods":
        compare(options.sets, options.threshold, options.datasail, options.datasail_seconds)
        return
    audits = [*moleculenet(), *moleculeace()]
    print("| split | train | test | ≥ 0.6 | ≥ 0.7 | ≥ 0.8 | 1 |")
    print("|---|---|---|---|---|---|---|")
    for each in audits:
        print(f"| {each.name} | {each.train:,} | {each.test:,} | {' | '.join(f'{x:.1%}' for x in each.shares)} |")
    if options.figure is not None:
        draw(audits, options.figure)


if __name__ == "__main__":
    main()
