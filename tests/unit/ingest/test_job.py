"""Files between the stages of a larger-than-memory ingest."""

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
    return Job(str(tmp_path / "lake"), "key", str(tmp_path), (), resolve(), IngestOptions(), Sizes(), {})


def test_scattered_rows_are_gathered_in_order(job: Job) -> None:
    """Three tasks scatter to five, the last of which gets nothing."""
    random = np.random.default_rng(0)
    expected: list[list[tuple[int, int]]] = [[] for _ in range(5)]
    for task in range(3):
        targets = random.integers(0, 4, 1000)
        rows = random.integers(0, 100, 1000)
        job.scatter("stage", task, pa.table({"row": rows}), targets, 5)
        for target, row in zip(targets.tolist(), rows.tolist(), strict=True):
            expected[target].append((task, row))
    for target in range(5):
        tables = list(job.gather("stage", 3, target))
        assert [row for table in tables for row in table["row"].to_pylist()] == [row for _, row in expected[target]]
    assert not list(job.gather("stage", 3, 4))


def test_empty_tables_are_scattered(job: Job) -> None:
    job.scatter("stage", 0, pa.table({"row": pa.array([], pa.int32())}), np.empty(0, np.int64), 2)
    assert [list(job.gather("stage", 1, target)) for target in range(2)] == [[], []]


def test_task_is_finished_once_its_result_is_saved(job: Job) -> None:
    job.write_arrays("stage", 3, numbers=np.arange(3))
    assert job.finished_tasks("stage") == set()
    assert job.read_arrays("stage", 3)["numbers"].tolist() == [0, 1, 2]
    job.save_result("stage", 3, {"rows": 3})
    assert job.finished_tasks("stage") == {3}
    assert job.result("stage", 3) == {"rows": 3}


@pytest.mark.parametrize("wrong", [{"rows": 5000}, {"block": 0}, {"columns": -1}])
def test_invalid_sizes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"invalid (size|number of rows)"):
        Sizes(**wrong)
