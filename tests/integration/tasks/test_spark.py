"""Tasks by Spark: its own behavior, and a few cases that every runner passes."""

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
from tests.integration.tasks.equality import OPTIONS, SMALL, assert_equal, file_digests
from tests.integration.tasks.lethal import assert_only_the_lethal_is_rejected

CAPPED = resolve(threshold=0.3, top_k=4)
RECORDS = 2000

Without = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def java(require_tools: Callable[..., None]) -> None:
    require_tools("java")


@pytest.mark.long
def test_molecules_in_small_tasks_equal_one_stream(spark: Runner, mixed_files: list[str], tmp_path: Path) -> None:
    """The top-k limit truncates the lists of most items."""
    assert_equal(spark, mixed_files, CAPPED, SMALL, tmp_path)


def test_command_by_spark_writes_the_files_of_one_stream(
    graphkin: Callable[..., Any], shapes: Path, tmp_path: Path
) -> None:
    """The lake of graphs equals that of one stream, file by file."""
    arguments = ("ingest", "graphs", shapes, "--collection", "c", "--json")
    by_spark = graphkin(*arguments, "--engine", "spark", "--master", "local[2]", "--lake", "lake", "--store", "loaded")
    assert by_spark.code == 0, by_spark.err
    local_outcome = graphkin(*arguments, "--lake", "other", "--store", "one")
    assert json.loads(by_spark.out)["generation"] == json.loads(local_outcome.out)["generation"]
    assert file_digests(tmp_path / "lake") == file_digests(tmp_path / "other")
    assert file_digests(tmp_path / "loaded" / "collections") == file_digests(tmp_path / "one" / "collections")


class _RecordedProgress(Progress):
    """Records progress, and creates a file when the first task has ended."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.ended: list[int] = []

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        yield self._advance

    def _advance(self, outcome: int) -> None:
        self.ended.append(outcome)
        if outcome:
            self.file.touch()


@pytest.mark.long
def test_progress_is_reported_as_tasks_end(spark: Runner, tmp_path: Path) -> None:
    """The second task waits until the progress of the first was reported."""
    progress = _RecordedProgress(tmp_path / "told")
    job = Job(str(tmp_path / "lake"), "key", str(tmp_path), (), CAPPED, OPTIONS, SMALL, {})

    def task(job: Job, number: int) -> dict[str, Any]:
        while number and not (Path(job.folder) / "told").exists():
            time.sleep(0.01)
        return {}

    Engine(spark, job, Clock(progress)).run("stage", task, 2)
    assert [each for each in progress.ended if each] == [1, 1]


@pytest.mark.long
def test_crashing_record_is_rejected_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_only_the_lethal_is_rejected(["--engine", "spark", "--master", "local[1]"], tmp_path, monkeypatch)


def test_missing_extra_is_explained(mixed_files: list[str], graphkin_without: Without) -> None:
    arguments = ["ingest", "molecules", *mixed_files, "--engine", "spark", "--lake", "lake", "--collection", "c"]
    outcome = graphkin_without("pyspark", *arguments)
    hint = "pip install '.[spark]' in a clone"
    assert (outcome.returncode, hint in outcome.stderr, "Traceback" in outcome.stderr) == (2, True, False)


@pytest.mark.long
def test_spark_submit_equals_one_stream(graphkin: Callable[..., Any], mixed_files: list[str], tmp_path: Path) -> None:
    """The arguments are the same except for the master. Spark also prints to standard error, before the output."""
    spark_submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    submit = [spark_submit, "--master", "local[2]", str(Path(package.__path__[0]) / "__main__.py")]
    arguments = ("--collection", "c", "--max-rejected", "0.2", "--json")
    command = [
        *submit,
        "ingest",
        "molecules",
        *mixed_files,
        "--engine",
        "spark",
        "--lake",
        str(tmp_path / "lake"),
        *arguments,
    ]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    outcome = graphkin("ingest", "molecules", *mixed_files, "--store", tmp_path / "one", *arguments)
    assert json.loads(process.stdout.splitlines()[-1])["generation"] == json.loads(outcome.out)["generation"]


@pytest.mark.long
@pytest.mark.parametrize("partitions", [1, 2, 4])
def test_molecules_in_several_partitions_equal_one_stream(
    mixed_files: list[str], partitions: int, tmp_path: Path
) -> None:
    """Of records, of owners and of blocks, on as many threads of Spark's."""
    most = -(-RECORDS // partitions)
    sizes = Sizes(records=most, group=most, owners=most, block=most, columns=partitions)
    with session(f"local[{partitions}]") as spark:
        assert_equal(spark, mixed_files, CAPPED, sizes, tmp_path)
