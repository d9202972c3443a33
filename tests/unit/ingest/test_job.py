"""Files between the stages of an ingest by tasks."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphkin.ingest.options import IngestOptions
from graphkin.ingest.stages.job import Job, Sizes
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.recipe import resolve


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(str(tmp_path / "lake"), "key", str(tmp_path), (), resolve(), IngestOptions(), Sizes())


def test_what_is_scattered_is_gathered_in_order(job: Job) -> None:
    """By three tasks to five, of which the last gets nothing."""
    random = np.random.default_rng(0)
    sent: list[list[tuple[int, int]]] = [[] for _ in range(5)]
    for task in range(3):
        to = random.integers(0, 4, 1000)
        rows = random.integers(0, 100, 1000)
        job.scatter("stage", task, pa.table({"row": rows}), to, 5)
        for place, row in zip(to.tolist(), rows.tolist(), strict=True):
            sent[place].append((task, row))
    for place in range(5):
        tables = list(job.gather("stage", 3, place))
        assert [row for table in tables for row in table["row"].to_pylist()] == [row for _, row in sent[place]]
    assert not list(job.gather("stage", 3, 4))


def test_nothing_is_scattered_too(job: Job) -> None:
    job.scatter("stage", 0, pa.table({"row": pa.array([], pa.int32())}), np.empty(0, np.int64), 2)
    assert [list(job.gather("stage", 1, place)) for place in range(2)] == [[], []]


def test_a_task_is_done_when_it_has_said_so(job: Job) -> None:
    job.write_arrays("stage", 3, numbers=np.arange(3))
    assert job.finished_tasks("stage") == set()
    assert job.read_arrays("stage", 3)["numbers"].tolist() == [0, 1, 2]
    job.save_result("stage", 3, {"rows": 3})
    assert job.finished_tasks("stage") == {3}
    assert job.result("stage", 3) == {"rows": 3}


@pytest.mark.parametrize("wrong", [{"rows": 5000}, {"block": 0}, {"columns": -1}])
def test_sizes_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="not a possible size"):
        Sizes(**wrong)
