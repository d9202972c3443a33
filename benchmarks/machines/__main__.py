"""Ingest on two machines, and compare the lake and the cost with an ingest on one.

    python -m benchmarks.machines [--molecules 100000] [--files 8] [--threshold 0.6] [--runs 1 2 3 4 5 6]

Both machines are Linux namespaces of this one. Each has a host name, processes and network interfaces of its own, and
sees no file that the other writes. They share the cores of this machine, and an object store, moto's S3 server, which
runs outside of both. The runs:

1. One machine, from files into a folder.
2. One machine, from the object store into the object store.
3. Both machines, by a standalone Spark cluster with an executor of one core on each.
4. The same. The executor of the second machine is killed while it parses.
5. The same. The executor of the second machine is killed while it compares.
6. The same. The network of the second machine is cut while it parses.

Every lake must have the generation and the files of the first, byte for byte. After run 3, one machine and both sample
epochs of positives from its lake, which must be equal too. Bytes are counted by the network interfaces. Those between a
machine and the store, and those between both machines, pass through different cables. Kernels are compiled on both
machines before the first run. Namespaces need root.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machines.cluster import ENVIRONMENT, MASTER, Cluster, cluster
from benchmarks.machines.machine import Link, Machine, Unavailable, run_in_namespaces
from benchmarks.machines.store import BUCKET
from benchmarks.molecules import generate
from tests.integration.tasks.equality import file_digests

UNAVAILABLE = 3
"""Exit code if this machine cannot hold the two machines."""

_INSIDE = "--inside"
_WARMUP = 300  # molecules
_TASKS = ("--engine", "tasks", "--workers", "2")
_SPARK = ("--engine", "spark", "--master", MASTER)
_EPOCHS = ("--policy", "random_walk", "--epochs", "0:4")


class Loss(NamedTuple):
    """A loss on the second machine, as soon as a task of a stage has finished."""

    stage: str
    cause: Callable[[Cluster], None]


@dataclass(frozen=True)
class Run:
    """An ingest to measure.

    Attributes:
        title: What it is.
        engine: Options that select the engine.
        at_urls: Whether input and lake are in the object store.
        loss: What is lost on the way, or None.
    """

    title: str
    engine: Sequence[str]
    at_urls: bool = True
    loss: Loss | None = None


TWO_MACHINES = Run("two machines", _SPARK)
RUNS = [
    Run("one machine, own files", _TASKS, at_urls=False),
    Run("one machine, object store", _TASKS),
    TWO_MACHINES,
    Run("two machines, executor killed in parse", _SPARK, loss=Loss("parse", Cluster.kill_executor)),
    Run("two machines, executor killed in compare", _SPARK, loss=Loss("compare", Cluster.kill_executor)),
    Run("two machines, one unplugged in parse", _SPARK, loss=Loss("parse", Cluster.unplug)),
]


@dataclass
class Cost:
    """Time, traffic and requests of a run.

    Attributes:
        seconds: Wall time.
        store: Processor time of the object store.
        received: Bytes that each machine has received from the store.
        sent: Bytes that each machine has sent to the store.
        between: Bytes between both machines, in both directions.
        requests: Requests of each machine to the store.
    """

    seconds: float
    store: float
    received: list[int]
    sent: list[int]
    between: int
    requests: list[int]


class Rig:
    """Runs ingests on a cluster.

    Args:
        running: The cluster.
        files: Names of the input files, which are in the home folder of the first machine and in the object store.
        threshold: Threshold of the similarity graph.
        folder: A folder for copies of lakes.
    """

    def __init__(self, running: Cluster, files: Sequence[str], threshold: float, folder: Path) -> None:
        self._cluster, self._files, self._threshold, self._folder = running, files, threshold, folder

    def measure(self, number: int, run: Run) -> tuple[Cost, dict[str, Any], dict[str, str]]:
        """Run an ingest, and return its cost, its manifest, and the digests of the files of the lake."""
        at, lake = (f"s3://{BUCKET}/", f"s3://{BUCKET}/lake-{number}") if run.at_urls else ("", f"lake-{number}")
        options = ("--lake", lake, "--collection", "generated", "--threshold", str(self._threshold), "--json")
        begin, read_cost = self._counters()
        process = self._cluster.start(
            "ingest", "molecules", *(f"{at}{each}" for each in self._files), *run.engine, *options
        )
        if run.loss is not None:
            pattern = f"PUT \\S*lake-{number}/_work/\\w+/{run.loss.stage}/\\d+\\.json"
            self._cluster.store.wait_for(pattern, begin, process)
            run.loss.cause(self._cluster)
        output = _output(process)
        return read_cost(), json.loads(output.splitlines()[-1]), self._digests(f"lake-{number}", at_url=run.at_urls)

    def sample_epochs(self, number: int) -> bool:
        """Sample epochs from a lake in the object store on one machine and on both, and return whether they are equal.

        Args:
            number: Number of the run that wrote the lake.
        """
        command = ("epochs", "--store", f"s3://{BUCKET}/lake-{number}", "--collection", "generated", *_EPOCHS)
        _output(self._cluster.start(*command, "--output", "epochs"))
        _output(self._cluster.start(*command, "--output", f"s3://{BUCKET}/epochs", *_SPARK))
        alone = self._digests("epochs", at_url=False)
        return len(alone) > 0 and self._digests("epochs", at_url=True) == alone

    def _counters(self) -> tuple[int, Callable[[], Cost]]:
        """Return the position of the store's log, and a function that returns the cost since now."""
        running = self._cluster
        machines = (running.one, running.two)

        def read() -> tuple[float, float, list[dict[str, Link]]]:
            return time.perf_counter(), running.store.seconds(), [each.links() for each in machines]

        position, before = running.store.position(), read()

        def cost() -> Cost:
            seconds, store, links = read()
            received, sent = (
                [now["store"][side] - then["store"][side] for then, now in zip(before[2], links, strict=True)]
                for side in (0, 1)
            )
            between = sum(links[0]["two"]) - sum(before[2][0]["two"])
            counts = running.store.requests(position)
            requests = [counts[f"10.77.{number}.2"] for number in (1, 2)]
            return Cost(seconds - before[0], store - before[1], received, sent, between, requests)

        return position, cost

    def _digests(self, name: str, *, at_url: bool) -> dict[str, str]:
        """Return the digests of the files in a folder of the first machine or of the object store."""
        if not at_url:
            return file_digests(self._cluster.one.path(f"/home/one/{name}"))
        copy = self._folder / name
        self._cluster.store.files.get(f"{BUCKET}/{name}", str(copy), recursive=True)
        return file_digests(copy)


def _output(process: "subprocess.Popen[str]") -> str:
    """Wait for a command, and return its output.

    Raises:
        RuntimeError: The command fails.
    """
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}")
    return output


def report(costs: dict[str, Cost], manifests: Sequence[dict[str, Any]]) -> str:
    """Return the tables of all runs and of their stages, in Markdown."""
    lines = [
        "| | seconds | store, processor time | one from / to the store, MB | two | between both | requests |",
        "|---|---|---|---|---|---|---|",
    ]
    for title, cost in costs.items():
        links = [f"{down / 1e6:.1f} / {up / 1e6:.1f}" for down, up in zip(cost.received, cost.sent, strict=True)]
        cells = [f"{cost.seconds:.1f}", f"{cost.store:.1f} s", *links]
        requests = " + ".join(f"{each:,}" for each in cost.requests)
        lines.append(f"| {' | '.join([title, *cells, f'{cost.between / 1e6:.1f}', requests])} |")
    lines += ["", f"| stage | {' | '.join(costs)} |", "|---" * (1 + len(costs)) + "|"]
    for stage in manifests[0]["times"]:
        lines.append(f"| {stage} | {' | '.join(format(each['times'][stage], '.1f') for each in manifests)} |")
    return "\n".join(lines)


def write_input(running: Cluster, count: int, files: int) -> list[str]:
    """Write generated molecules to the first machine and to the object store, and return the names of the files."""
    molecules = (f"{smiles} g{number}\n" for number, smiles in enumerate(generate(count)))
    names = [f"part-{number}.smi" for number in range(files)]
    for number, name in enumerate(names):
        content = "".join(islice(molecules, count * (number + 1) // files - count * number // files)).encode()
        running.one.path(f"/home/one/{name}").write_bytes(content)
        running.store.files.pipe_file(f"{BUCKET}/{name}", content)
    return names


def compile_kernels(where: Machine) -> None:
    """Ingest some molecules on a machine, which compiles and caches the kernels there."""
    home = Path(f"/home/{where.name}")
    where.path(home / "few.smi").write_text("".join(f"{smiles}\n" for smiles in generate(_WARMUP)))
    command = (sys.executable, "-m", "graphkin", "ingest", "molecules", "few.smi", "--collection", "few")
    where.run(*command, *_TASKS, "--lake", "few", environment=ENVIRONMENT)


def _measure(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder)) as running:
        files = write_input(running, options.molecules, options.files)
        for each in (running.one, running.two):
            compile_kernels(each)
        rig = Rig(running, files, options.threshold, Path(folder))
        costs, manifests, digests, equal = {}, [], [], True
        for number, run in enumerate(RUNS, 1):
            if number not in options.runs:
                continue
            costs[run.title], manifest, lake = rig.measure(number, run)
            manifests.append(manifest)
            digests.append(lake)
            equal &= _print_verdict(
                run.title, lake == digests[0] and manifest["generation"] == manifests[0]["generation"]
            )
            if run is TWO_MACHINES:
                equal &= _print_verdict("epochs of two machines", rig.sample_epochs(number))
        print(f"\n{manifests[0]['counts']['kept']:,} items, {manifests[0]['edges']:,} edges, {len(digests[0])} files\n")
        print(report(costs, manifests))
        if not equal:
            raise SystemExit("lakes or epochs differ")


def _print_verdict(title: str, is_equal: bool) -> bool:
    print(f"{title}: {'identical' if is_equal else 'DIFFERENT'}", flush=True)
    return is_equal


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.machines", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    numbers = range(1, len(RUNS) + 1)
    parser.add_argument("--molecules", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--threshold", type=float, default=0.6)
    parser.add_argument("--runs", type=int, nargs="+", choices=numbers, default=numbers, help="1 is always among them")
    parser.add_argument(_INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.runs = {1, *options.runs}
    if options.inside:
        _measure(options)
        return
    try:
        run_in_namespaces([sys.executable, "-m", "benchmarks.machines", *sys.argv[1:], _INSIDE])
    except Unavailable as error:
        parser.exit(UNAVAILABLE, f"not measured: {error}\n")


if __name__ == "__main__":
    main()
