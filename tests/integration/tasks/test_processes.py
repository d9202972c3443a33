"""Tasks by processes of this machine, which may be killed, all of them or one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from graphkin.ingest.runners.base import Runner, Task
from graphkin.ingest.runners.processes import Processes
from graphkin.ingest.stages.pipeline import ingest
from graphkin.protocol.errors import InvalidInput, StoreError
from graphkin.similarity.kind import Advance
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.contract.hierarchies import MOLECULES
from graphkin.store.lake.layout import parse_manifest
from graphkin.store.lake.place import Place
from graphkin.store.lake.store import LakeStore
from tests.integration.tasks.equality import OPTIONS, files, in_one_stream, of_lake
from tests.integration.tasks.lethal import assert_only_the_lethal_is_rejected

CAPPED = resolve(threshold=0.3, top_k=4)

T = TypeVar("T")


def test_by_the_command(graphkin: Callable[..., Any], shapes: Path, tmp_path: Path) -> None:
    """The lake is, file for file, what one stream writes."""
    what = ("ingest", "graphs", shapes, "--collection", "c", "--json")
    by_tasks = graphkin(*what, "--engine", "tasks", "--workers", "2", "--lake", "lake", "--store", "loaded")
    assert by_tasks.code == 0, by_tasks.err
    graphkin(*what, "--lake", "other", "--store", "one")
    assert files(tmp_path / "lake") == files(tmp_path / "other")
    assert files(tmp_path / "loaded" / "collections") == files(tmp_path / "one" / "collections")


def _say(folder: Path, number: int, again: bool) -> tuple[int, bool]:
    """Task 2 kills its process the first time it is tried, task 5 always, task 7 is refused."""
    if number == 5 or (number == 2 and not again):
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7:
        raise InvalidInput("no seventh", given=number)
    (folder / f"{number}-{again}").touch()
    return number, again


class Say:
    """The task, as it is pickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, number: int, again: bool) -> tuple[int, bool]:
        return _say(self.folder, number, again)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_task_whose_process_was_lost_is_tried_again_and_told_so(workers: int, tmp_path: Path) -> None:
    advanced: list[int] = []
    with Processes(workers) as runner:
        told = runner.run("stage", Say(tmp_path), range(5), advanced.append)
    assert [number for number, _ in told] == [0, 1, 2, 3, 4]
    assert told[2] == (2, True)
    assert sum(again for _, again in told) <= workers
    assert advanced == [1] * 5


def test_a_task_that_always_loses_its_process_ends_the_stage(tmp_path: Path) -> None:
    with Processes(2) as runner, pytest.raises(StoreError, match="stage say, 4 times at task 5"):
        runner.run("say", Say(tmp_path), [4, 5, 6], lambda _: None)


def test_a_task_that_refuses_ends_the_stage_and_the_runner_goes_on(tmp_path: Path) -> None:
    with Processes(2) as runner:
        with pytest.raises(InvalidInput, match="no seventh"):
            runner.run("say", Say(tmp_path), [6, 7, 8], lambda _: None)
        assert runner.run("say", Say(tmp_path), [0], lambda _: None) == [(0, False)]


def test_a_record_that_kills_is_rejected_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_only_the_lethal_is_rejected(["--engine", "tasks", "--workers", "2"], tmp_path, monkeypatch)


def test_what_is_damaged_is_told_as_it_is(own_store: Path, graphkin: Callable[..., Any], tmp_path: Path) -> None:
    """By the process that found out."""
    (file,) = own_store.rglob("indices.npy")
    file.write_bytes(file.read_bytes()[:-8])
    where = ("--store", own_store, "--collection", "nci", "--output", "out")
    here, there = (graphkin("export", "neo4j-admin", *where, "--engine", engine) for engine in ("local", "tasks"))
    assert (here.code, here.err) == (there.code, there.err)
    assert "indices.npy" in there.err
    assert not (tmp_path / "out").exists()


class Here(Runner):
    """Runs tasks in this process, and calls `first` before those of a stage."""

    def __init__(self, stage: str, first: Callable[[], object]) -> None:
        self._stage, self._first = stage, first

    def run(self, stage: str, task: Task[T], numbers: Sequence[int], advance: Advance) -> list[T]:
        if stage == self._stage:
            self._first()
        return [task(number, False) for number in numbers]


@pytest.mark.parametrize("stage", ["read", "compare", "forest"])
def test_tasks_that_another_writer_overtakes_leave_its_lake_alone(mixed: list[str], tmp_path: Path, stage: str) -> None:
    url = f"memory://{tmp_path.name}/lake"

    def overtake() -> None:
        with LakeStore(url, create=True, cache=tmp_path / "cache") as other:
            MOLECULES.publish(other, "molecules")

    with pytest.raises(StoreError, match="another writer has published this lake meanwhile") as error:
        ingest(Here(stage, overtake), url, "c", mixed, CAPPED, OPTIONS)
    assert error.value.exit_code == 4
    lake = parse_manifest(Place(url).read("manifest.json"))
    assert lake.collection == "molecules"
    assert set(Place(url).names()) == {"manifest.json", *(part.name for part in lake.all_parts())}


@pytest.fixture
def command(mixed: list[str]) -> list[str]:
    where = ["--engine", "tasks", "--workers", "2", "--lake", "lake", "--collection", "c"]
    how = ["--threshold", "0.3", "--top-k", "4", "--max-rejected", "0.2"]
    return [sys.executable, "-m", "graphkin", "ingest", "molecules", *mixed, *where, *how]


@pytest.fixture
def begun(command: list[str], tmp_path: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """The command, once it has parsed something."""
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            while not list(tmp_path.glob("lake/_work/*/parse/*.json")):
                assert process.poll() is None, process.communicate()
                time.sleep(0.005)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-C"])
def test_whoever_is_ended_leaves_no_process_and_the_next_run_goes_on(
    begun: "subprocess.Popen[bytes]", command: list[str], mixed: list[str], number: int, tmp_path: Path
) -> None:
    """Ctrl-C is told to all of them. What writers leave beside names is gone in the end."""
    family = psutil.Process(begun.pid).children(recursive=True)
    if number == signal.SIGINT:
        os.killpg(begun.pid, number)
    else:
        begun.send_signal(number)
    assert begun.wait(20) == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    assert psutil.wait_procs(family, timeout=20)[1] == []
    assert not (tmp_path / "lake" / "manifest.json").exists()
    (tmp_path / "lake" / "items").mkdir(exist_ok=True)
    (tmp_path / "lake" / "items" / ".part-000000.parquet.0.partial").touch()
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert not list((tmp_path / "lake").rglob("*.partial"))
    assert of_lake(tmp_path / "lake", tmp_path / "loaded") == in_one_stream(mixed, CAPPED, tmp_path / "one")
