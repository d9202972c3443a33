"""Tasks in processes of this machine, which may be killed, one or all."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
from graphkin.store.lake.export_folder import ExportFolder
from graphkin.store.lake.layout import parse_manifest
from graphkin.store.lake.store import LakeStore
from tests.integration.tasks.equality import OPTIONS, SMALL, file_digests, ingest_in_one_stream, read_lake
from tests.integration.tasks.lethal import assert_only_the_lethal_is_rejected

CAPPED = resolve(threshold=0.3, top_k=4)
MANY_SHARDS = replace(SMALL, owners=100)

T = TypeVar("T")


def test_command_by_tasks_writes_the_files_of_one_stream(
    graphkin: Callable[..., Any], shapes: Path, tmp_path: Path
) -> None:
    """The lake equals that of one stream, file by file."""
    arguments = ("ingest", "graphs", shapes, "--collection", "c", "--json")
    by_tasks = graphkin(*arguments, "--engine", "tasks", "--workers", "2", "--lake", "lake", "--store", "loaded")
    assert by_tasks.code == 0, by_tasks.err
    graphkin(*arguments, "--lake", "other", "--store", "one")
    assert file_digests(tmp_path / "lake") == file_digests(tmp_path / "other")
    assert file_digests(tmp_path / "loaded" / "collections") == file_digests(tmp_path / "one" / "collections")


def _run_task(folder: Path, number: int, again: bool) -> tuple[int, bool]:
    """Task 2 kills its process in the first attempt, task 5 in every attempt, and task 7 raises an error."""
    if number == 5 or (number == 2 and not again):
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7:
        raise InvalidInput("no seventh", given=number)
    (folder / f"{number}-{again}").touch()
    return number, again


class TaskUnderTest:
    """A task that can be pickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, number: int, again: bool) -> tuple[int, bool]:
        return _run_task(self.folder, number, again)


@pytest.mark.parametrize("workers", [1, 3])
def test_task_of_a_killed_process_is_retried(workers: int, tmp_path: Path) -> None:
    progress: list[int] = []
    with Processes(workers) as runner:
        results = runner.run("stage", TaskUnderTest(tmp_path), range(5), progress.append)
    assert [number for number, _ in results] == [0, 1, 2, 3, 4]
    assert results[2] == (2, True)
    assert sum(again for _, again in results) <= workers
    assert progress == [1] * 5


def test_task_that_always_kills_its_process_ends_the_stage(tmp_path: Path) -> None:
    with Processes(2) as runner, pytest.raises(StoreError, match="4 times at task 5 of stage say"):
        runner.run("say", TaskUnderTest(tmp_path), [4, 5, 6], lambda _: None)


def test_error_of_a_task_ends_the_stage_but_not_the_runner(tmp_path: Path) -> None:
    with Processes(2) as runner:
        with pytest.raises(InvalidInput, match="no seventh"):
            runner.run("say", TaskUnderTest(tmp_path), [6, 7, 8], lambda _: None)
        assert runner.run("say", TaskUnderTest(tmp_path), [0], lambda _: None) == [(0, False)]


def test_crashing_record_is_rejected_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_only_the_lethal_is_rejected(["--engine", "tasks", "--workers", "2"], tmp_path, monkeypatch)


def test_damage_is_reported_by_the_process_that_detects_it(
    own_store: Path, graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    (file,) = own_store.rglob("indices.npy")
    file.write_bytes(file.read_bytes()[:-8])
    export_options = ("--store", own_store, "--collection", "nci", "--output", "out")
    local_outcome, tasks_outcome = (
        graphkin("export", "neo4j-admin", *export_options, "--engine", engine) for engine in ("local", "tasks")
    )
    assert (local_outcome.code, local_outcome.err) == (tasks_outcome.code, tasks_outcome.err)
    assert "indices.npy" in tasks_outcome.err
    assert not (tmp_path / "out").exists()


class LocalRunner(Runner):
    """Runs tasks in this process, and calls `before[stage]` before those of a stage.

    `started` has the stages with tasks, in their order.
    """

    def __init__(self, before: Mapping[str, Callable[[], object]]) -> None:
        self._before = before
        self.started: list[str] = []

    def run(self, stage: str, task: Task[T], numbers: Sequence[int], advance: Advance) -> list[T]:
        self.started.append(stage)
        if stage in self._before:
            self._before[stage]()
        return [task(number, False) for number in numbers]


@pytest.mark.parametrize("stage", ["read", "compare", "forest"])
def test_concurrent_writer_of_a_lake_is_not_overwritten(mixed_files: list[str], tmp_path: Path, stage: str) -> None:
    url = f"memory://{tmp_path.name}/lake"

    def overtake() -> None:
        with LakeStore(url, create=True, cache=tmp_path / "cache") as other:
            MOLECULES.publish(other, "molecules")

    with pytest.raises(StoreError, match="another process published this lake first") as error:
        ingest(LocalRunner({stage: overtake}), url, "c", mixed_files, CAPPED, OPTIONS)
    assert error.value.exit_code == 4
    lake = parse_manifest(ExportFolder(url).read("manifest.json"))
    assert lake.collection == "molecules"
    assert set(ExportFolder(url).names()) == {"manifest.json", *(part.name for part in lake.all_parts())}


@pytest.mark.parametrize("stage", ["best", "shard", "merge-0", "merge-1", "forest"])
def test_next_run_repeats_no_stage_that_has_finished(mixed_files: list[str], tmp_path: Path, stage: str) -> None:
    """Pairs that a finished stage has read are removed from the disk."""

    def stop() -> None:
        raise InvalidInput("stopped")

    lake = str(tmp_path / "lake")
    with pytest.raises(InvalidInput, match="stopped"):
        ingest(LocalRunner({stage: stop}), lake, "c", mixed_files, CAPPED, OPTIONS, sizes=MANY_SHARDS)
    finished = {folder.name for folder in tmp_path.glob("lake/_work/*/*") if list(folder.glob("*.json"))}
    runner = LocalRunner({})
    ingest(runner, lake, "c", mixed_files, CAPPED, OPTIONS, sizes=MANY_SHARDS)
    assert runner.started[0] == stage
    assert not finished & {*runner.started}
    assert read_lake(tmp_path / "lake", tmp_path / "loaded") == ingest_in_one_stream(
        mixed_files, CAPPED, tmp_path / "one"
    )


def test_pairs_are_removed_once_they_are_merged(mixed_files: list[str], tmp_path: Path) -> None:
    folders: list[set[str]] = []

    def look() -> None:
        folders.append({folder.name for folder in tmp_path.glob("lake/_work/*/*") if list(folder.iterdir())})

    runner = LocalRunner(dict.fromkeys(("best", "shard", "merge-0"), look))
    ingest(runner, str(tmp_path / "lake"), "c", mixed_files, CAPPED, OPTIONS, sizes=MANY_SHARDS)
    assert [folder & {"kept-pairs", "kept-edges"} for folder in folders] == [{"kept-pairs"}, {"kept-edges"}, set()]


@pytest.fixture
def command(mixed_files: list[str]) -> list[str]:
    export_options = ["--engine", "tasks", "--workers", "2", "--lake", "lake", "--collection", "c"]
    options = ["--threshold", "0.3", "--top-k", "4", "--max-rejected", "0.2"]
    return [sys.executable, "-m", "graphkin", "ingest", "molecules", *mixed_files, *export_options, *options]


@pytest.fixture
def running_ingest(command: list[str], tmp_path: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """Yield the process of the command once it has parsed something."""
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            while not list(tmp_path.glob("lake/_work/*/parse/*.json")):
                assert process.poll() is None, process.communicate()
                time.sleep(0.005)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-C"])
def test_ended_ingest_leaves_no_process_and_the_next_run_continues(
    running_ingest: "subprocess.Popen[bytes]", command: list[str], mixed_files: list[str], number: int, tmp_path: Path
) -> None:
    """Ctrl-C signals all processes. Temporary files are finally removed."""
    descendants = psutil.Process(running_ingest.pid).children(recursive=True)
    if number == signal.SIGINT:
        os.killpg(running_ingest.pid, number)
    else:
        running_ingest.send_signal(number)
    assert running_ingest.wait(20) == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    assert psutil.wait_procs(descendants, timeout=20)[1] == []
    assert not (tmp_path / "lake" / "manifest.json").exists()
    (tmp_path / "lake" / "items").mkdir(exist_ok=True)
    (tmp_path / "lake" / "items" / ".part-000000.parquet.0.partial").touch()
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert not list((tmp_path / "lake").rglob("*.partial"))
    assert read_lake(tmp_path / "lake", tmp_path / "loaded") == ingest_in_one_stream(
        mixed_files, CAPPED, tmp_path / "one"
    )
