"""On a real standalone cluster of Spark's own classes, a master and two workers: what is killed changes no byte."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pyspark
import pytest

from graphkin.store import open_lake
from graphkin.store.files import sha256_at

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SIZES = {"records": 200, "group": 500, "rows": 4096, "owners": 100, "block": 128, "columns": 2, "room": 1000}
RECIPE = {"threshold": 0.3, "top_k": 4}


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


Start = Callable[[Path], "subprocess.Popen[str]"]


@pytest.fixture
def start(master: str, mixed: list[str]) -> Iterator[Start]:
    """Starts an ingest into a lake, a process of its own."""
    with ExitStack() as stack:

        def started(lake: Path) -> "subprocess.Popen[str]":
            told = {"master": master, "lake": str(lake), "files": mixed, "recipe": RECIPE, "sizes": SIZES}
            command = [sys.executable, str(Path(__file__).with_name("driver.py")), json.dumps(told)]
            environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield started


def _ended(process: "subprocess.Popen[str]") -> None:
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert len(out.strip()) == 64


def _files(lake: Path) -> dict[str, str]:
    assert not (lake / "_work").exists()
    files = {path.relative_to(lake).as_posix(): sha256_at(path) for path in lake.rglob("*") if path.is_file()}
    files.pop("manifest.json")  # which says when it was
    return files


@pytest.fixture(scope="module")
def expected(mixed: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of the lake that one Java machine makes, which `test_equal` compares with those of no Spark at all."""
    lake = tmp_path_factory.mktemp("expected") / "lake"
    told = {"master": "local[2]", "lake": str(lake), "files": mixed, "recipe": RECIPE, "sizes": SIZES}
    command = [sys.executable, str(Path(__file__).with_name("driver.py")), json.dumps(told)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    return _files(lake)


def test_a_cluster_makes_what_one_machine_does(start: Start, expected: dict[str, str], tmp_path: Path) -> None:
    _ended(start(tmp_path / "lake"))
    assert _files(tmp_path / "lake") == expected
    assert len(expected) > 60
    with open_lake(str(tmp_path / "lake")) as lake, lake.open("c") as generation:
        assert generation.check() == []


def _finished(lake: Path, stage: str) -> list[Path]:
    return list(lake.glob(f"_work/*/{stage}/*.json"))


def _reached(lake: Path, stage: str, process: "subprocess.Popen[str]") -> None:
    """Wait until some tasks of the stage are done, and fail if the process ends before."""
    until = time.monotonic() + 600
    while len(_finished(lake, stage)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)  # there is nobody to tell


def _executors(called: str) -> list[psutil.Process]:
    """Of the cluster of this test."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        command = " ".join(process.info["cmdline"] or [])
        if called in command:
            found.append(process)
    return found


@pytest.mark.parametrize("stage", ["compare", "best"])
@pytest.mark.parametrize("victim", ["CoarseGrainedExecutorBackend", "pyspark.daemon"])
def test_an_executor_or_its_python_is_killed(
    start: Start, master: str, expected: dict[str, str], tmp_path: Path, stage: str, victim: str
) -> None:
    """In the join, and between what are its two shuffles."""
    process = start(tmp_path / "lake")
    _reached(tmp_path / "lake", stage, process)
    own = {child.pid for parent in _workers(master) for child in parent.children(recursive=True)}
    victims = [each for each in _executors(victim) if each.pid in own]
    assert victims
    victims[0].send_signal(signal.SIGKILL)
    _ended(process)
    assert _files(tmp_path / "lake") == expected


def _workers(master: str) -> list[psutil.Process]:
    return [each for each in _executors("deploy.worker.Worker") if master in each.info["cmdline"]]


@pytest.mark.parametrize("stage", ["parse", "compare", "best"])
def test_the_driver_is_killed_and_started_again(
    start: Start, expected: dict[str, str], tmp_path: Path, stage: str
) -> None:
    """What was finished is not done again."""
    lake = tmp_path / "lake"
    process = start(lake)
    _reached(lake, stage, process)
    process.kill()
    process.wait()
    assert not (lake / "manifest.json").exists()
    before = {path: path.stat().st_mtime_ns for path in lake.glob("_work/*/*/*.json")}
    again = start(lake)
    seen: dict[Path, int] = {}
    while again.poll() is None and not (lake / "manifest.json").exists():
        seen |= {path: path.stat().st_mtime_ns for path in before if path.exists()}
        time.sleep(0.02)
    _ended(again)
    assert {path: seen[path] for path in before} == before
    assert _files(lake) == expected
