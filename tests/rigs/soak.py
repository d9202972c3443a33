"""Soak test of a server that a team leaves running: latency for trainers and chemists, and use of resources.

    python -m tests.rigs.soak [--minutes 120] [--chemists 50] [--trainers 3] [--molecules 20000] [--seed 0]
                              [--cycle 24] [--json FILE]

Chemists sample from the mix of `tests.rigs.mix` without its heavy part, and pause for some seconds after each
response. One in five requests concerns a collection that grows. Trainers request epochs, batches of positives and
negatives, and compute a step with each. Meanwhile a writer appends to the growing collection, replaces another one by
a new ingest, prunes both, and repeats this some seconds later. Half-way through each cycle of such rounds it compacts
the growing collection. At the end of the cycle it removes everything that the cycle appended, so that collections do
not grow forever. Finally every current generation is verified, and the growing collection is compared with one ingest
of the remaining files.

For the first twelfth of the time, chemists pause a tenth as long, so that the server's bounded caches are full before
its memory is judged. Percentiles cover whole responses after that time. Memory and descriptors include the server's
children; the users and the writer share the machine with it. The exit code is 1 if a request or the writer failed, or
data was lost.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from random import Random

import uvloop

from benchmarks.command import OWN, Address, graphkin, served
from benchmarks.data import molecules
from benchmarks.machine import descriptors, memory, processor_seconds
from tests.rigs.load import mixed
from tests.rigs.mix import Ask, Mix
from tests.rigs.soak_report import Soak, State, failed_of, failures, report
from tests.rigs.users import Record, Users

_STILL, _GROWN, _OTHER = "still", "grown", "other"
_SHARES = {"instant": 0.75, "search": 0.15, "drawing": 0.10}
_GROWN_SHARE = 0.2  # share of the chemists' requests
_PAUSE = 3.0  # mean seconds between a response and a chemist's next request
_AT_FIRST = 1 / 12  # share of the time
_HURRY = 0.1  # factor of the chemists' pause at first
_STEP = 0.2  # mean seconds that a trainer computes with a response
_APPENDED = 20  # molecules per append
_REST = 10.0  # seconds between two rounds of the writer
_KEPT = 3  # generations that prune keeps
_STATES = 60  # states of the server, evenly spaced in time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--chemists", type=int, default=50)
    parser.add_argument("--trainers", type=int, default=3)
    parser.add_argument("--molecules", type=int, default=20_000, help="of each collection, to begin with")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cycle", type=int, default=24, help="rounds of the writer, of which the last removes")
    parser.add_argument("--json", type=Path, help="file for every single request")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        soak = runner.run(_soak(Writer(Path(folder), options.molecules, options.cycle), options))
    print(report(soak))
    if options.json:
        options.json.write_text(json.dumps(asdict(soak)))
    return 1 if failures(soak) else 0


class Writer:
    """Writes to the store while it is served. `log` has each command with its seconds."""

    def __init__(self, folder: Path, size: int, cycle: int) -> None:
        self.store = folder / "store"
        self.log: list[tuple[str, float]] = []
        self.failed: list[str] = []
        self._folder = folder
        self._cycle = cycle
        _, lines = molecules(2 * size)
        half = len(lines) // 2
        self._older = self._written("older.smi", lines[:half])
        self._lines = lines[half:]
        self._appended: list[Path] = []

    def _written(self, name: str, lines: list[str]) -> Path:
        path = self._folder / name
        path.write_text("".join(lines))
        return path

    async def begin(self) -> None:
        """Create the collections before the server starts."""
        for name in (_STILL, _GROWN, _OTHER):
            await self._graphkin("ingest", "molecules", self._older, collection=name)

    async def work(self, seconds: float) -> None:
        """Run rounds for a number of seconds, and finish the last command."""
        end = time.perf_counter() + seconds
        for number in count():
            if time.perf_counter() >= end or self.failed:
                break
            start = number * _APPENDED % len(self._lines)
            file = self._written(f"new-{number}.smi", self._lines[start : start + _APPENDED])
            await self._graphkin("append", file, collection=_GROWN)
            self._appended.append(file)
            await self._graphkin("ingest", "molecules", file, collection=_OTHER)
            await self._tidy(1 + number % self._cycle)
            await self._graphkin("prune", "--keep", str(_KEPT))
            await asyncio.sleep(max(0.0, min(_REST, end - time.perf_counter())))

    async def _tidy(self, done: int) -> None:
        """Compact or remove at the right rounds of a cycle, where `done` rounds are complete."""
        if done == self._cycle:
            lines = [file.read_text() for file in self._appended]
            await self._graphkin("remove", self._written("gone.smi", lines), "--by", "smiles", collection=_GROWN)
            self._appended.clear()
        elif done == self._cycle // 2:
            await self._graphkin("compact", collection=_GROWN)

    async def compare(self) -> None:
        """Verify all collections, and compare the growing collection with one ingest of the same files."""
        for name in (_STILL, _GROWN, _OTHER):
            await self._graphkin("verify", collection=name)
        grown = await self._current(_GROWN)
        await self._graphkin("ingest", "molecules", self._older, *self._appended, collection=_GROWN)
        if await self._current(_GROWN) != grown:
            self.failed.append(f"{_GROWN} {grown} is not what one ingest of its {len(self._appended) + 1} files gives")

    async def _current(self, name: str) -> str:
        return str(json.loads(await self._graphkin("info", "--json", collection=name))["manifest"]["generation"])

    async def _graphkin(self, *arguments: str | Path, collection: str | None = None) -> str:
        """Run a command, record its seconds and any failure, and return its output."""
        where: list[str | Path] = ["--store", self.store, *([] if collection is None else ["--collection", collection])]
        begin = time.perf_counter()
        process = await asyncio.create_subprocess_exec(*graphkin(*arguments, *where), stdout=PIPE, stderr=PIPE)
        out, err = await process.communicate()
        self.log.append((str(arguments[0]), time.perf_counter() - begin))
        if process.returncode:
            self.failed.append(f"{arguments[0]} {collection or ''}: {err.decode(errors='replace').strip()[-500:]}")
        return out.decode(errors="replace")


async def _soak(writer: Writer, options: argparse.Namespace) -> Soak:
    await writer.begin()
    seconds = 60 * options.minutes
    counted = (1 - _AT_FIRST) * seconds
    with served(OWN, writer.store) as (address, pid):
        hurried, crowds = await asyncio.to_thread(_crowds, address, options)
        states: list[State] = []
        watching = asyncio.create_task(_watch(pid, seconds, states))
        begun = processor_seconds(pid)
        await asyncio.gather(writer.work(seconds), _use(hurried, seconds - counted, crowds, counted))
        taken = processor_seconds(pid) - begun
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await writer.compare()
    failed = [*failed_of(_log(hurried)), *writer.failed]
    return Soak(seconds, counted, taken, _log(crowds), states, writer.log, failed)


def _crowds(address: Address, options: argparse.Namespace) -> tuple[list[Users], list[Users]]:
    """Return the users of the first part, and those of the rest."""
    random = Random(options.seed)
    still, grown = (mixed(address, name, random) for name in (_STILL, _GROWN))

    def chemist(random: Random) -> tuple[str, Ask]:
        mix = grown if random.random() < _GROWN_SHARE else still
        return mix.draw(random, _SHARES)

    def crowd(seed: str, pause: float) -> list[Users]:
        return [
            Users(address, chemist, options.chemists, seed, pause=pause),
            Users(address, _trainer(still), options.trainers, seed, pause=_STEP),
        ]

    return crowd(f"{options.seed} hurried", _HURRY * _PAUSE), crowd(str(options.seed), _PAUSE)


async def _use(hurried: list[Users], at_first: float, crowds: list[Users], seconds: float) -> None:
    await asyncio.gather(*(crowd.work(at_first) for crowd in hurried))
    await asyncio.gather(*(crowd.work(seconds) for crowd in crowds))


def _log(crowds: list[Users]) -> list[Record]:
    return [record for crowd in crowds for record in crowd.log]


def _trainer(mix: Mix) -> Callable[[Random], tuple[str, Ask]]:
    kinds = (mix.epoch, mix.batch, mix.negatives)
    return lambda random: ("trainer", random.choice(kinds)(random))


async def _watch(pid: int, seconds: float, states: list[State]) -> None:
    """Record states of the server until cancelled."""
    begin = time.perf_counter()
    for number in count():
        await asyncio.sleep(max(0.0, begin + number * seconds / _STATES - time.perf_counter()))
        states.append(State(time.perf_counter() - begin, memory(pid), descriptors(pid)))


if __name__ == "__main__":
    sys.exit(main())
