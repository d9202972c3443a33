"""The faults of `tests.rigs.chaos`, and the rounds that apply them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from time import perf_counter

from benchmarks.clock import Clock
from graphkin.protocol.errors import StoreDamaged
from graphkin.store import open_store
from graphkin.store.backup import prune
from tests.rigs.chaos_report import Round
from tests.rigs.site import Disk, Ended, Site
from tests.rigs.truth import THRESHOLD, Ledger
from tests.rigs.witnesses import Witnesses

FAULTS = ("api", "worker", "ingest", "append", "trainer", "disk", "damage", "clock")

STILL, GROWN, OTHER = "still", "grown", "other"
"""Collections: one never changes, one is appended to, one is replaced by new ingests."""

_APPENDED = 20  # molecules per append
_KEPT = 3  # generations of each collection
PATIENCE = 300.0  # seconds after which a recovery counts as failed
_MONTH = 30 * 86_400
_STEPS, _CHECKPOINT = 24, 3  # steps of a training run, and between its checkpoints
_RECIPE = ("--format", "smi", "--threshold", str(THRESHOLD), "--top-k", "0", "--workers", "2")


class Place:
    """The store and the server under test.

    Each fault is a method that returns whether it hit its target, and the seconds until recovery.
    """

    witnesses: Witnesses

    def __init__(self, folder: Path, site: Site, disk: Disk, clock: Clock, ledger: Ledger) -> None:
        self.ledger = ledger
        self.wrong: list[str] = []
        self.store = folder / "store"
        self._folder = folder
        self._site = site
        self._disk = disk
        self._clock = clock
        self._files = 0
        self._usual: dict[str, float] = {}  # seconds of a command without a fault

    async def begin(self) -> None:
        """Create the collections."""
        size = len(self.ledger.truth.smiles)
        self._first, self._fresh = [*range(size // 3, size // 2)], range(size // 2, size)
        for name, members in ((STILL, range(size // 3)), (GROWN, self._first), (OTHER, range(0, size, 3))):
            await self._publish_by(name, members, *self.ingesting(name, members))

    async def prepare(self, faults: Iterable[str]) -> None:
        """Prepare the faults: the fault of the trainer needs a training run without faults to compare with."""
        if "trainer" in faults:
            ended = await self._site.run(*self._training(self._folder / "run"), store=False)
            if ended.code:
                raise RuntimeError(f"pretrain failed: {_last(ended)}")
            self._usual["pretrain"] = ended.seconds

    async def round(self, fault: str, strike: Callable[[], Awaitable[tuple[bool, float]]]) -> Round:
        """Apply a fault, and check all acknowledged data and all responses afterwards."""
        witnesses = self.witnesses
        previous = witnesses.counted.copy()
        result = Round(fault)
        try:
            async with asyncio.timeout(PATIENCE):
                result.met, result.recovered = await strike()
                if not await witnesses.everything():
                    result.wrong.append("not everything was answered rightly afterwards")
        except (TimeoutError, RuntimeError) as error:
            result.failed += [str(error)] if str(error) else []
            result.recovered = None
            await self._restore()
        with open_store(self.store) as store:
            lost, wrong = await asyncio.to_thread(self.ledger.check, store)
        witnesses.settle()
        result.asked = sum((witnesses.counted - previous)[outcome] for outcome in ("right", "wrong"))
        result.lost += lost
        result.wrong += [*wrong, *self.wrong, *witnesses.wrong]
        result.failed += witnesses.failed
        for problems in (self.wrong, witnesses.wrong, witnesses.failed):
            problems.clear()
        return result

    # faults

    async def api(self, random: Random) -> tuple[bool, float]:
        await asyncio.sleep(random.random())
        await self._site.kill_server(whole=random.random() < 0.5)
        return True, await self._time_until(self._site.serve())

    async def worker(self, random: Random) -> tuple[bool, float]:
        await asyncio.sleep(random.random())
        worker = random.choice(self._site.listening())
        worker.kill()
        await asyncio.to_thread(worker.wait)
        return True, await self._time_until(self._site.all_listen())

    async def ingest(self, random: Random) -> tuple[bool, float]:
        size = len(self.ledger.truth.smiles)
        members = random.sample(range(size), random.randint(size // 4, size // 2))
        return await self._kill_and_repeat(random, OTHER, members, *self.ingesting(OTHER, members))

    async def append(self, random: Random) -> tuple[bool, float]:
        members, command = self._append_command(random)
        return await self._kill_and_repeat(random, GROWN, members, *command)

    async def trainer(self, random: Random) -> tuple[bool, float]:
        output = self._folder / f"run-{random.random()}"
        killed = await self._site.killed(
            self._usual["pretrain"] * random.random(), *self._training(output), alone=True, store=False
        )
        resumed = await self._site.run(*self._training(output), store=False)
        if resumed.code:
            self.wrong.append(f"a training run was not resumed: {_last(resumed)}")
        elif _weights(output) != _weights(self._folder / "run"):
            self.wrong.append(f"a training run that was killed after {killed.seconds:.1f} s learned otherwise")
        return killed.code < 0, resumed.seconds

    async def disk(self, random: Random) -> tuple[bool, float]:
        sizes = [file.stat().st_size for file in self._current_files(OTHER)]
        size = len(self.ledger.truth.smiles)
        members = random.sample(range(size), size // 3)
        command = self.ingesting(OTHER, members)
        with self._disk.full(int(0.9 * random.random() * sum(sizes)), max(sizes)) as within:
            refused = await self._site.run(*command, within=within)
        if refused.code == 0:
            self._publish(OTHER, members)
        elif refused.code != 4 or "Traceback" in refused.err:
            self.wrong.append(f"an ingest on a full disk ended with {refused.code}: {_last(refused)}")
        again = await self._publish_by(OTHER, members, *command)
        return refused.code == 4, again.seconds

    async def damage(self, random: Random) -> tuple[bool, float]:
        collection = random.choice([STILL, GROWN, OTHER])
        file = random.choice(self._current_files(collection))
        at, bit = random.randrange(file.stat().st_size), 1 << random.randrange(8)
        await self._site.kill_server()
        _flip(file, at, bit)
        try:
            await self._site.serve(ready=False)
            if await self.witnesses.everything() and not self._reports_damage(collection):
                self.wrong.append(f"nobody was told that byte {at} of {file.name} of {collection} is another")
            elif not self._reports_damage(collection):
                self.wrong.append(
                    f"byte {at} of {file.name} of {collection} is another: requests say so, checks do not"
                )
        finally:
            await self._site.kill_server()
            _flip(file, at, bit)
        return True, await self._time_until(self._site.serve())

    async def clock(self, random: Random) -> tuple[bool, float]:
        for _ in range(2):
            self._clock.set(random.randint(-_MONTH, _MONTH))
            await asyncio.sleep(0.5)
            await self.witnesses.well()
        members, command = self._append_command(random)
        await self._publish_by(GROWN, members, *command)
        self._clock.set(0)
        return True, await self._time_until(asyncio.sleep(0))

    # helpers

    async def _time_until(self, there: Awaitable[object]) -> float:
        """Wait for `there` and then for correct responses, and return the seconds."""
        begin = perf_counter()
        await there
        await self.witnesses.well()
        return perf_counter() - begin

    async def _restore(self) -> None:
        """Restore the clock and restart the server after a failed recovery."""
        self._clock.set(0)
        await self._site.kill_server()
        await self._site.serve()

    async def _kill_and_repeat(
        self, random: Random, collection: str, members: Sequence[int], *command: str | Path
    ) -> tuple[bool, float]:
        """Kill a command at a random time, and run it again."""
        usual = self._usual.get(
            f"{command[0]}", self._usual["ingest"] / 2
        )  # an append takes at most half the time of an ingest
        after = usual * random.random()
        killed = await self._site.killed(after, *command, alone=random.random() < 0.5)
        if killed.code == 0:
            self._publish(collection, members)
        again = await self._publish_by(collection, members, *command)
        return killed.code < 0, again.seconds

    async def _publish_by(self, collection: str, members: Sequence[int], *command: str | Path) -> Ended:
        """Run a command that publishes a generation, record it, and prune older generations.

        Raises:
            RuntimeError: The command fails.
        """
        ended = await self._site.run(*command)
        if ended.code:
            raise RuntimeError(f"{command[0]} of {collection} failed: {_last(ended)}")
        self._usual[f"{command[0]}"] = ended.seconds
        self._publish(collection, members)
        with open_store(self.store) as store:
            prune(store, _KEPT)
        self.ledger.prune(_KEPT)
        return ended

    def _publish(self, collection: str, members: Sequence[int]) -> None:
        with open_store(self.store) as store:
            self.ledger.publish(collection, store.collection(collection).current, members)

    def ingesting(self, collection: str, members: Sequence[int]) -> tuple[str | Path, ...]:
        return "ingest", "molecules", self._file(members), *_RECIPE, "--collection", collection

    def _append_command(self, random: Random) -> tuple[list[int], tuple[str | Path, ...]]:
        """Return the future members of the growing collection, and the command. A complete collection starts over."""
        older = self.ledger.members(GROWN)
        left = sorted({*self._fresh} - {*older})
        if not left:
            return self._first, self.ingesting(GROWN, self._first)
        new = random.sample(left, min(_APPENDED, len(left)))
        return [*older, *new], ("append", self._file(new), "--collection", GROWN)

    def _file(self, members: Sequence[int]) -> Path:
        self._files += 1
        file = self._folder / f"{self._files}.smi"
        file.write_text("".join(self.ledger.truth.lines[each] for each in members))
        return file

    def _current_files(self, collection: str) -> list[Path]:
        """Return the files of a collection's current generation."""
        with open_store(self.store) as store:
            manifest = store.manifest(collection)
        folders = [each.folder for each in manifest.fragments] or [manifest.generation]
        files = [file for each in folders for file in (self.store / "collections" / collection / each).iterdir()]
        return sorted(file for file in files if file.stat().st_size)

    def _reports_damage(self, collection: str) -> bool:
        """Return whether a check of the collection reports damage."""
        try:
            with open_store(self.store) as store, store.open(collection) as generation:
                return bool(generation.check())
        except StoreDamaged:
            return True

    def _training(self, output: Path) -> tuple[str | Path, ...]:
        place = ("--api", self._site.url, "--collection", STILL, "--output", output)
        steps = ("--batch-size", "8", "--max-steps", str(_STEPS), "--checkpoint-steps", str(_CHECKPOINT))
        how = ("--strategy", "hgc-fo", "--encoder", "gcn", "--cache-dir", self._folder / "fed", "--resume")
        return "pretrain", *place, *how, *steps


def _weights(output: Path) -> list[bytes]:
    """Return the final weights of a training run."""
    return [file.read_bytes() for file in sorted((output / f"step-{_STEPS:09}").glob("*.safetensors"))]


def _flip(file: Path, at: int, bit: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        (byte,) = opened.read(1)
        opened.seek(at)
        opened.write(bytes([byte ^ bit]))


def _last(ended: Ended) -> str:
    return ended.err.strip()[-500:]
