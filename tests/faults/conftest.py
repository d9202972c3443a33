"""Stores and commands, and the saboteur that makes their file operations fail."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from graphkin.cli import run
from graphkin.store import open_store
from graphkin.store.base import Generation

COMMAND = Path(sys.executable).with_name("graphkin")
DEADLINE = 60  # seconds until a process counts as hung


@pytest.fixture(scope="session", autouse=True)
def accept_interrupts() -> Iterator[None]:
    """Interrupt commands as a terminal does, although a shell starts background processes with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class Plan:
    """A fault planned for a process, see `saboteur.c`. With `at` 0, its file operations are only traced."""

    library: Path
    trace: Path
    store: Path
    kind: str = "any"
    at: int = 0
    action: int = signal.SIGKILL

    def __str__(self) -> str:
        return f"{self.store} {self.trace} {self.kind} {self.at} {int(self.action)}"

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.library), "SABOTAGE": str(self)}

    def operations(self) -> list[tuple[str, Path]]:
        """Return kind and path of every operation, up to and including the one that failed."""
        lines = self.trace.read_text().splitlines()
        return [(kind, Path(path)) for kind, path in (line.split(" ", 1) for line in lines)]


class Saboteur:
    """The compiled fault injection library `saboteur.c`, and plans for it."""

    def __init__(self, folder: Path) -> None:
        self.library = folder / "saboteur.so"
        self._traces = (folder / f"{number}.trace" for number in count())
        source = Path(__file__).with_name("saboteur.c")
        compiler = shutil.which("cc")
        assert compiler, "the fault tests need a C compiler: install gcc and libc6-dev"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self.library, source, "-ldl"], check=True)

    def plan(self, store: Path, **strike: Any) -> Plan:
        return Plan(self.library, next(self._traces), store, **strike)


@pytest.fixture(scope="session")
def saboteur(tmp_path_factory: pytest.TempPathFactory) -> Saboteur:
    return Saboteur(tmp_path_factory.mktemp("saboteur"))


@dataclass(frozen=True)
class ForkResult:
    """Result of a fork: its status (0 or minus a signal), and its message, empty if the fork was killed."""

    status: int
    message: dict[str, Any]


class Forks:
    """The process of `forks.py`, which runs store operations and commands in forks that import nothing."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, operation: str, *arguments: Any, plan: Plan | None = None) -> ForkResult:
        assert self._process.stdin
        assert self._process.stdout
        request = {"operation": operation, "arguments": arguments, "sabotage": plan and str(plan)}
        print(json.dumps(request, default=str), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        return (
            ForkResult(answer, {})
            if isinstance(answer, int)
            else ForkResult(int(self._process.stdout.readline()), answer)
        )


@pytest.fixture(scope="session")
def forks(saboteur: Saboteur) -> Iterator[Forks]:
    script = Path(__file__).with_name("forks.py")
    with subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(saboteur.library)},
    ) as process:
        yield Forks(process)


@pytest.fixture(scope="session")
def memory_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder on a file system in memory if there is one, because syncing costs nothing there."""
    shared = Path("/dev/shm")
    parent = shared if os.access(shared, os.W_OK) else tmp_path_factory.getbasetemp()
    with TemporaryDirectory(prefix="graphkin-faults-", dir=parent) as folder:
        yield Path(folder)


@dataclass(frozen=True)
class State:
    """Published state of a store.

    Attributes:
        generations: Ids of the generations, oldest first.
        current: Id of the current generation.
        contents: Items, arrays and number of fragments of each generation.
    """

    generations: tuple[str, ...]
    current: str
    contents: dict[str, tuple[bytes, ...]]


@pytest.fixture(scope="session")
def read_back() -> Callable[[Path], State | None]:
    """Return a function that reads the state of a store of at most one collection and fails on any damage. None means
    empty.
    """

    def read_state(folder: Path) -> State | None:
        with open_store(folder) as store:
            if not store.collections():
                return None
            (collection,) = store.collections()
            contents = {id: _contents(store.open(collection.name, id)) for id in collection.generations}
            return State(collection.generations, collection.current, contents)

    return read_state


def _contents(generation: Generation) -> tuple[bytes, ...]:
    with generation:
        assert generation.check() == []
        graph, forest = generation.graph(), generation.forest()
        arrays = (graph.indptr, graph.indices, graph.similarity, generation.fingerprints().words, forest.source)
        items = generation.items(range(generation.size))
        fragments = len(generation.manifest.fragments) or 1  # A generation in Neo4j has no files.
        return (json.dumps([items, fragments]).encode(), *(array.tobytes() for array in arrays))


@pytest.fixture(scope="session")
def leftovers() -> Callable[[Path], set[str]]:
    """Return a function that lists the names below the collections that belong to no published generation."""

    def find(folder: Path) -> set[str]:
        with open_store(folder) as store:
            ids = [(each.name, id) for each in store.collections() for id in each.generations]
            published = {fragment.folder for name, id in ids for fragment in store.manifest(name, id).fragments}
        return {path.name for path in folder.glob("collections/*/*")} - published

    return find


class Command:
    """Ways to run the `graphkin` command."""

    def run_here(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run the command in this process, which has imported all that it needs."""
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
            code = run([*map(str, arguments)])
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), errors.getvalue())

    def run(
        self, *arguments: str | Path, within: Sequence[str] = (), plan: Plan | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command in a process of its own. `within` is a command that runs it."""
        return subprocess.run(
            [*within, COMMAND, *arguments],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            env={**os.environ, **(plan.environment if plan else {})},
        )

    def ingest(self, file: Path, store: Path, **how: Any) -> subprocess.CompletedProcess[str]:
        return self.run(*self.ingest_arguments(file, store), **how)

    def ingest_arguments(self, file: Path | str, store: Path) -> tuple[str | Path, ...]:
        place = ("--store", store, "--collection", "nci")
        return ("ingest", "molecules", file, "--format", "smi", *place, "--workers", "2")

    def append_arguments(self, file: Path | str, store: Path) -> tuple[str | Path, ...]:
        _, _, *rest = self.ingest_arguments(file, store)
        return ("append", *rest)

    def removal_arguments(self, file: Path | str, store: Path) -> tuple[str | Path, ...]:
        return ("remove", file, "--by", "smiles", "--store", store, "--collection", "nci", "--workers", "2")

    def start_process(self, *arguments: str | Path) -> subprocess.Popen[bytes]:
        """Start the command and discard its output."""
        return subprocess.Popen([COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @contextmanager
    def start_unfinished_ingest(self, store: Path, records: str) -> Iterator["Session"]:
        """Start an ingest of standard input that has received these records and waits for more."""
        with subprocess.Popen(
            [COMMAND, *self.ingest_arguments("-", store)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                assert process.stdin is not None
                process.stdin.write(records)
                process.stdin.flush()
                yield Session(process)
            finally:
                process.kill()


class Session:
    """A command and all its descendant processes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def wait_for_stage(self, stage: str) -> None:
        """Wait until the command has reported this stage."""
        assert self.process.stderr is not None
        assert any(line.startswith(f"{stage}:") for line in self.process.stderr)

    def members(self) -> set[int]:
        """Return the ids of the running processes, without zombies."""
        return {int(folder.name) for folder in Path("/proc").glob("[0-9]*") if self._running(folder)}

    def _running(self, folder: Path) -> bool:
        try:
            status = (folder / "stat").read_text()
        except OSError:  # The process ended meanwhile.
            return False
        state, _, _, session, *_ = status.rpartition(")")[2].split()
        return int(session) == self.process.pid and state != "Z"

    def wait_for_size(self, size: int) -> set[int]:
        """Wait until the session has at least `size` processes, and return their ids."""
        return self._members_when(lambda members: len(members) >= size)

    def wait_until_ended(self) -> None:
        """Wait until no process is left."""
        self._members_when(lambda members: not members)

    def _members_when(self, is_expected: Callable[[set[int]], bool]) -> set[int]:
        end = time.monotonic() + DEADLINE
        while not is_expected(members := self.members()):
            assert time.monotonic() < end, f"{len(members)} processes after {DEADLINE} s"
            time.sleep(0.01)
        return members


@pytest.fixture(scope="session")
def graphkin() -> Command:
    return Command()


@pytest.fixture(scope="session")
def molecule_files(tmp_path_factory: pytest.TempPathFactory, nci_file: Path) -> tuple[Path, Path]:
    """Return two disjoint files of 300 real molecules each."""
    lines = nci_file.read_text().splitlines(keepends=True)
    folder = tmp_path_factory.mktemp("molecules")
    files = folder / "first.smi", folder / "second.smi"
    for file, start in zip(files, (0, 300), strict=True):
        file.write_text("".join(lines[start : start + 300]))
    return files


@dataclass(frozen=True)
class Baseline:
    """Two ingests into one store without faults.

    Attributes:
        store: The store after the first ingest; copy it.
        first: Published state after the first ingest.
        second: Published state after the second ingest.
        operations: File operations of the second ingest.
        sizes: Bytes of each file of the second generation.
    """

    store: Path
    first: State
    second: State
    operations: list[tuple[str, Path]]
    sizes: list[int]


@pytest.fixture(scope="session")
def baseline(
    tmp_path_factory: pytest.TempPathFactory,
    graphkin: Command,
    molecule_files: tuple[Path, Path],
    saboteur: Saboteur,
    forks: Forks,
    read_back: Callable[[Path], State],
) -> Baseline:
    folder = tmp_path_factory.mktemp("undisturbed")
    store, copy = folder / "first", folder / "second"
    graphkin.run_here(*graphkin.ingest_arguments(molecule_files[0], store)).check_returncode()
    shutil.copytree(store, copy)
    plan = saboteur.plan(copy)
    assert forks("command", *graphkin.ingest_arguments(molecule_files[1], copy), plan=plan).message == {"result": 0}
    second = read_back(copy)
    sizes = [file.stat().st_size for file in copy.glob(f"collections/*/{second.current}/*")]
    return Baseline(store, read_back(store), second, plan.operations(), sizes)
