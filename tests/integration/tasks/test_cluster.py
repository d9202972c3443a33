"""Ingests on a real standalone Spark cluster of a master and two workers, with killed processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pyspark
import pytest

from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recipe import Recipe
from tests.integration.tasks.equality import ingest_in_one_stream, read_lake

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SIZES = {"records": 100, "group": 500, "rows": 4096, "owners": 100, "block": 128, "columns": 2, "room": 1000}
MOLECULES = resolve(threshold=0.3, top_k=4)
NEXT = {"parse": "reject", "compare": "best", "best": "shard"}
POLL_SECONDS = 0.02  # Seconds between checks of a driver's progress, which sends no notifications.

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def master(require_tools: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_tools("java")
    folder = tmp_path_factory.mktemp("cluster")
    launch = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    here = ("--host", "127.0.0.1", "--webui-port", "0")
    commands = [
        [launch, f"{deploy}.master.Master", *here, "--port", str(port)],
        *[
            [launch, f"{deploy}.worker.Worker", *here, "--cores", "1", "--memory", "1g", "-d", str(folder / name), url]
            for name in ("one", "two")
        ],
    ]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    with ExitStack() as stack:
        log = stack.enter_context((folder / "log.txt").open("wb"))
        for command in commands:
            process = stack.enter_context(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            stack.callback(process.kill)
        yield url


@pytest.fixture
def start(master: str, mixed_files: list[str]) -> Iterator[Start]:
    """Yield a function that starts an ingest into a lake, by default of molecules, in its own process."""
    with ExitStack() as stack:

        def start_driver(
            lake: Path, kind: str = "molecule", recipe: Recipe = MOLECULES, files: list[str] = mixed_files
        ) -> "subprocess.Popen[str]":
            arguments = {"master": master, "lake": str(lake), "kind": kind, "files": files, "sizes": SIZES}
            driver = str(Path(__file__).with_name("driver.py"))
            command = [sys.executable, driver, json.dumps({**arguments, "recipe": recipe.model_dump(mode="json")})]
            environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start_driver


def _end(process: "subprocess.Popen[str]") -> None:
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err


@pytest.fixture(scope="module")
def expected(mixed_files: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[object, dict[str, str]]:
    return ingest_in_one_stream(mixed_files, MOLECULES, tmp_path_factory.mktemp("one"))


def test_molecules_on_a_cluster_equal_one_machine(start: Start, expected: object, tmp_path: Path) -> None:
    _end(start(tmp_path / "lake"))
    assert read_lake(tmp_path / "lake", tmp_path / "loaded") == expected
    assert len(list((tmp_path / "lake").rglob("part-*"))) > 30


def test_graphs_on_a_cluster_equal_one_machine(start: Start, shapes: Path, tmp_path: Path) -> None:
    files, recipe = [str(shapes)], resolve_graphs()
    _end(start(tmp_path / "lake", "graph", recipe, files))
    assert read_lake(tmp_path / "lake", tmp_path / "loaded") == ingest_in_one_stream(files, recipe, tmp_path / "one")


def _finished(lake: Path, stage: str) -> list[Path]:
    return list(lake.glob(f"_work/*/{stage}/*.json"))


def _reach(lake: Path, stage: str, process: "subprocess.Popen[str]") -> None:
    """Wait until some tasks of the stage are done, and fail if the process ends earlier."""
    until = time.monotonic() + 600
    while len(_finished(lake, stage)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(POLL_SECONDS)


@contextmanager
def _suspend(process: "subprocess.Popen[str]") -> Iterator[None]:
    """Suspend the driver, both Python and Java, so that no stage begins."""
    driver = psutil.Process(process.pid)
    processes = [driver, *driver.children(recursive=True)]
    for each in processes:
        each.suspend()
    try:
        yield
    finally:
        for each in processes:
            each.resume()


def _workers(master: str) -> list[psutil.Process]:
    processes = psutil.process_iter(["cmdline"])
    return [each for each in processes if {"org.apache.spark.deploy.worker.Worker", master} <= {*_command(each)}]


def _executors(master: str) -> list[psutil.Process]:
    """Return the Java processes, each with a daemon that forks Python processes."""
    worker_children = (child for worker in _workers(master) for child in worker.children())
    return [
        each for each in worker_children if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in _command(each)
    ]


def _pythons(master: str) -> list[psutil.Process]:
    """Return the Python processes that run tasks."""
    daemons = (child for executor in _executors(master) for child in executor.children())
    return [forked for daemon in daemons for forked in daemon.children()]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # The process has ended or belongs to another user.
        return []


@pytest.mark.parametrize("stage", ["compare", "best"])
@pytest.mark.parametrize("victims", [_executors, _pythons], ids=["executor", "python"])
def test_killed_executor_or_python_changes_nothing(
    start: Start,
    master: str,
    expected: object,
    tmp_path: Path,
    stage: str,
    victims: Callable[[str], list[psutil.Process]],
) -> None:
    """The process is killed in the join, or between its two shuffles."""
    process = start(tmp_path / "lake")
    _reach(tmp_path / "lake", stage, process)
    with _suspend(process):
        victims(master)[0].send_signal(signal.SIGKILL)
        assert not _finished(tmp_path / "lake", NEXT[stage])
    _end(process)
    assert read_lake(tmp_path / "lake", tmp_path / "loaded") == expected


@pytest.mark.parametrize("stage", ["parse", "compare", "best"])
def test_restarted_driver_only_runs_unfinished_tasks(
    start: Start, expected: object, tmp_path: Path, stage: str
) -> None:
    """Finished tasks are not repeated."""
    lake = tmp_path / "lake"
    process = start(lake)
    _reach(lake, stage, process)
    process.kill()
    process.wait()
    assert not _finished(lake, NEXT[stage])
    before = {path: path.stat().st_mtime_ns for path in lake.glob("_work/*/*/*.json")}
    restarted = start(lake)
    modified_times: dict[Path, int] = {}
    while restarted.poll() is None and not (lake / "manifest.json").exists():
        with suppress(FileNotFoundError):  # The files are removed once the lake is published.
            modified_times |= {path: path.stat().st_mtime_ns for path in before}
        time.sleep(POLL_SECONDS)
    _end(restarted)
    assert modified_times == before
    assert read_lake(lake, tmp_path / "loaded") == expected
