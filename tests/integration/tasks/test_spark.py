"""Tasks by Spark: what only Spark does, and a few of the cases that any runner passes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

import graphkin as package
from graphkin.ingest.progress import Clock, Progress
from graphkin.ingest.runners.base import Runner
from graphkin.ingest.runners.spark import session
from graphkin.ingest.stages.engine import Engine
from graphkin.ingest.stages.job import Job, Sizes
from graphkin.similarity.molecules.recipe import resolve
from tests.integration.tasks.equality import OPTIONS, SMALL, assert_equal, files
from tests.integration.tasks.lethal import assert_only_the_lethal_is_rejected

CAPPED = resolve(threshold=0.3, top_k=4)
RECORDS = 2000

Without = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def java(require_tools: Callable[..., None]) -> None:
    require_tools("java")


@pytest.mark.long
def test_molecules_in_small_pieces(spark: Runner, mixed: list[str], tmp_path: Path) -> None:
    """With a cap that most items feel."""
    assert_equal(spark, mixed, CAPPED, SMALL, tmp_path)


def test_by_the_command(graphkin: Callable[..., Any], shapes: Path, tmp_path: Path) -> None:
    """Graphs; the lake is, file for file, what this machine writes."""
    what = ("ingest", "graphs", shapes, "--collection", "c", "--json")
    by_spark = graphkin(*what, "--engine", "spark", "--master", "local[2]", "--lake", "lake", "--store", "loaded")
    assert by_spark.code == 0, by_spark.err
    here = graphkin(*what, "--lake", "other", "--store", "one")
    assert json.loads(by_spark.out)["generation"] == json.loads(here.out)["generation"]
    assert files(tmp_path / "lake") == files(tmp_path / "other")
    assert files(tmp_path / "loaded" / "collections") == files(tmp_path / "one" / "collections")


class _Told(Progress):
    """Leaves a file when it is told of a task that has ended."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.ended: list[int] = []

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        yield self._advance

    def _advance(self, ended: int) -> None:
        self.ended.append(ended)
        if ended:
            self.file.touch()


@pytest.mark.long
def test_tasks_are_told_of_as_they_end(spark: Runner, tmp_path: Path) -> None:
    """The second waits until somebody was told of the first."""
    told = _Told(tmp_path / "told")
    job = Job(str(tmp_path / "lake"), "key", str(tmp_path), (), CAPPED, OPTIONS, SMALL)

    def task(job: Job, number: int) -> dict[str, Any]:
        while number and not (Path(job.folder) / "told").exists():
            time.sleep(0.01)
        return {}

    Engine(spark, job, Clock(told)).run("stage", task, 2)
    assert [each for each in told.ended if each] == [1, 1]


@pytest.mark.long
def test_a_record_that_kills_is_rejected_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_only_the_lethal_is_rejected(["--engine", "spark", "--master", "local[1]"], tmp_path, monkeypatch)


def test_without_the_extra_it_says_what_to_install(mixed: list[str], graphkin_without: Without) -> None:
    what = ["ingest", "molecules", *mixed, "--engine", "spark", "--lake", "lake", "--collection", "c"]
    ended = graphkin_without("pyspark", *what)
    hint = "pip install 'graphkin[spark]', or '.[spark]' in a clone"
    assert (ended.returncode, hint in ended.stderr, "Traceback" in ended.stderr) == (2, True, False)


@pytest.mark.long
def test_by_spark_submit(graphkin: Callable[..., Any], mixed: list[str], tmp_path: Path) -> None:
    """With the same arguments but for the master. It puts what goes to standard error before what is printed."""
    spark_submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    submit = [spark_submit, "--master", "local[2]", str(Path(package.__path__[0]) / "__main__.py")]
    what = ("--collection", "c", "--max-rejected", "0.2", "--json")
    command = [*submit, "ingest", "molecules", *mixed, "--engine", "spark", "--lake", str(tmp_path / "lake"), *what]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcome = graphkin("ingest", "molecules", *mixed, "--store", tmp_path / "one", *what)
    assert json.loads(done.stdout.splitlines()[-1])["generation"] == json.loads(outcome.out)["generation"]


@pytest.mark.long
@pytest.mark.parametrize("partitions", [1, 2, 4])
def test_molecules_in_so_many_partitions(mixed: list[str], partitions: int, tmp_path: Path) -> None:
    """Of records, of owners and of blocks, on as many threads of Spark's."""
    most = -(-RECORDS // partitions)
    sizes = Sizes(records=most, group=most, owners=most, block=most, columns=partitions)
    with session(f"local[{partitions}]") as spark:
        assert_equal(spark, mixed, CAPPED, sizes, tmp_path)
