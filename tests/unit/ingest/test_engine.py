"""The engine's tasks refuse to run where they would write something else."""

from pathlib import Path

import pytest

from graphkin.ingest.options import IngestOptions
from graphkin.ingest.progress import Clock, Progress
from graphkin.ingest.provenance import versions
from graphkin.ingest.stages.engine import Engine
from graphkin.ingest.stages.job import Job, Sizes
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.recipe import resolve
from tests.runners import InThisProcess


@pytest.mark.parametrize("library", ["rdkit", "graphkin"])
def test_task_refuses_other_versions_of_libraries(library: str, tmp_path: Path) -> None:
    expected = versions(resolve())
    job = Job(str(tmp_path), "key", "/", (), resolve(), IngestOptions(), Sizes(), {**expected, library: "0.0"})
    with pytest.raises(InvalidInput, match="has other versions of libraries") as error:
        Engine(InThisProcess(), job, Clock(Progress())).run("stage", lambda job, number: {}, 1)
    assert (error.value.given, error.value.expected) == (f"{library} {expected[library]}", f"{library} 0.0")
    assert not job.finished_tasks("stage")


def test_task_runs_with_the_same_versions(tmp_path: Path) -> None:
    job = Job(str(tmp_path), "key", "/", (), resolve(), IngestOptions(), Sizes(), versions(resolve()))
    assert Engine(InThisProcess(), job, Clock(Progress())).run("stage", lambda job, number: {"n": number}, 2) == [
        {"n": 0},
        {"n": 1},
    ]
