"""On a real standalone cluster of Spark's own classes, a master and two workers: what is killed changes no byte."""

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
from tests.integration.tasks.equality import in_one_stream, of_lake

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SIZES = {"records": 100, "group": 500, "rows": 4096, "owners": 100, "block": 128, "columns": 2, "room": 1000}
MOLECULES = resolve(threshold=0.3, top_k=4)
NEXT = {"parse": "reject", "compare": "best", "best": "shard"}
BETWEEN = 0.02  # seconds until it is looked again how far a driver is: there is nobody to tell

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def master(require_tools: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_tools("java")
    folder = tmp_path_factory.mktemp("cluster")
    launch = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
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
def start(master: str, mixed: list[str]) -> Iterator[Start]:
    """Starts an ingest into a lake, by default of molecules, a process of its own."""
    with ExitStack() as stack:

        def started(
            lake: Path, kind: str = "molecule", recipe: Recipe = MOLECULES, files: list[str] = mixed
        ) -> "subprocess.Popen[str]":
            told = {"master": master, "lake": str(lake), "kind": kind, "files": files, "sizes": SIZES}
            driver = str(Path(__file__).with_name("driver.py"))
            command = [sys.executable, driver, json.dumps({**told, "recipe": recipe.model_dump(mode="json")})]
            environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield started


def _end(process: "subprocess.Popen[str]") -> None:
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err


@pytest.fixture(scope="module")
def expected(mixed: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[object, dict[str, str]]:
    return in_one_stream(mixed, MOLECULES, tmp_path_factory.mktemp("one"))


def test_a_cluster_makes_of_molecules_what_one_machine_does(start: Start, expected: object, tmp_path: Path) -> None:
    _end(start(tmp_path / "lake"))
    assert of_lake(tmp_path / "lake", tmp_path / "loaded") == expected
    assert len(list((tmp_path / "lake").rglob("part-*"))) > 30


def test_a_cluster_makes_of_graphs_what_one_machine_does(start: Start, shapes: Path, tmp_path: Path) -> None:
    files, recipe = [str(shapes)], resolve_graphs()
    _end(start(tmp_path / "lake", "graph", recipe, files))
    assert of_lake(tmp_path / "lake", tmp_path / "loaded") == in_one_stream(files, recipe, tmp_path / "one")


def _finished(lake: Path, stage: str) -> list[Path]:
    return list(lake.glob(f"_work/*/{stage}/*.json"))


def _reach(lake: Path, stage: str, process: "subprocess.Popen[str]") -> None:
    """Wait until some tasks of the stage are done, and fail if the process ends before."""
    until = time.monotonic() + 600
    while len(_finished(lake, stage)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(BETWEEN)


@contextmanager
def _held(process: "subprocess.Popen[str]") -> Iterator[None]:
    """The driver, Python and Java, stands still meanwhile, so no stage begins."""
    driver = psutil.Process(process.pid)
    both = [driver, *driver.children(recursive=True)]
    for each in both:
        each.suspend()
    try:
        yield
    finally:
        for each in both:
            each.resume()


def _workers(master: str) -> list[psutil.Process]:
    every = psutil.process_iter(["cmdline"])
    return [each for each in every if {"org.apache.spark.deploy.worker.Worker", master} <= {*_command(each)}]


def _executors(master: str) -> list[psutil.Process]:
    """Processes of Java, each of which has a daemon that forks the processes of Python."""
    own = (child for worker in _workers(master) for child in worker.children())
    return [each for each in own if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in _command(each)]


def _pythons(master: str) -> list[psutil.Process]:
    """Those that run tasks."""
    daemons = (child for executor in _executors(master) for child in executor.children())
    return [forked for daemon in daemons for forked in daemon.children()]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has ended meanwhile, or is somebody else's
        return []


@pytest.mark.parametrize("stage", ["compare", "best"])
@pytest.mark.parametrize("victims", [_executors, _pythons], ids=["executor", "python"])
def test_an_executor_or_its_python_is_killed(
    start: Start,
    master: str,
    expected: object,
    tmp_path: Path,
    stage: str,
    victims: Callable[[str], list[psutil.Process]],
) -> None:
    """In the join, and between its two shuffles."""
    process = start(tmp_path / "lake")
    _reach(tmp_path / "lake", stage, process)
    with _held(process):
        victims(master)[0].send_signal(signal.SIGKILL)
        assert not _finished(tmp_path / "lake", NEXT[stage])
    _end(process)
    assert of_lake(tmp_path / "lake", tmp_path / "loaded") == expected


@pytest.mark.parametrize("stage", ["parse", "compare", "best"])
def test_the_driver_is_killed_and_started_again(start: Start, expected: object, tmp_path: Path, stage: str) -> None:
    """What was finished is not done again."""
    lake = tmp_path / "lake"
    process = start(lake)
    _reach(lake, stage, process)
    process.kill()
    process.wait()
    assert not _finished(lake, NEXT[stage])
    before = {path: path.stat().st_mtime_ns for path in lake.glob("_work/*/*/*.json")}
    again = start(lake)
    seen: dict[Path, int] = {}
    while again.poll() is None and not (lake / "manifest.json").exists():
        with suppress(FileNotFoundError):  # they go once the lake is published
            seen |= {path: path.stat().st_mtime_ns for path in before}
        time.sleep(BETWEEN)
    _end(again)
    assert seen == before
    assert of_lake(lake, tmp_path / "loaded") == expected
