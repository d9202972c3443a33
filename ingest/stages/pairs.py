"""Pair stages: join blocks, and apply the top-k limit to the pairs that one task finds."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.ingest.cap import TopKSelection
from graphkin.ingest.stages.job import Job
from graphkin.similarity.join import AcrossPlan, JoinPlan, Pairs
from graphkin.similarity.planes import BitPlanes
from graphkin.store.records import Int32, UInt64


def compare(tasks: list[tuple[int, list[int]]], shards: int, job: Job, task: int) -> dict[str, Any]:
    """Compare one block with some blocks before it, and possibly with itself."""
    own, others = tasks[task]
    numbers = list(dict.fromkeys([*others, own]))
    held = [job.read_arrays("block", number) for number in numbers]
    ids, tie = (np.concatenate([each[name] for each in held]) for name in ("ids", "tie"))
    ends = np.cumsum([len(each["ids"]) for each in held])
    starts = {number: np.int32(end - len(each["ids"])) for number, end, each in zip(numbers, ends, held, strict=True)}

    def found() -> Iterator[Pairs]:
        words = job.read_arrays("words", own)["words"]
        planes, threshold = BitPlanes.of(words), job.recipe.threshold
        for other in others:
            plan: JoinPlan | AcrossPlan = (
                JoinPlan(words, threshold, planes)
                if other == own
                else AcrossPlan(job.read_arrays("words", other)["words"], threshold, planes)
            )
            for pairs in plan.pairs():
                yield Pairs(pairs.left + starts[other], pairs.right + starts[own], pairs.similarity)

    return _kept(found(), ids, tie, shards, job, task)


def compare_all(parts: int, shards: int, job: Job, task: int) -> dict[str, Any]:
    """Compare all items in one task, for recipes whose candidates cannot be divided into blocks."""
    described = pa.concat_tables([job.read("described", part) for part in range(parts)])
    descriptors = job.kind.descriptors(described, job.recipe)
    ids = np.arange(len(descriptors), dtype=np.int32)
    return _kept(descriptors.pairs(0, 1, lambda _: None), ids, descriptors.tie, shards, job, task)


def _kept(found: Iterable[Pairs], ids: Int32, tie: UInt64, shards: int, job: Job, task: int) -> dict[str, Any]:
    """Scatter the partners that each item keeps, and its number of pairs, to the shards of the owners."""
    cap = TopKSelection(tie, job.top_k, job.sizes.room)
    for pairs in found:
        cap.add(pairs)
    kept, degrees = cap.kept_partners()
    owner = ids[kept.owner]
    rows = {"owner": owner, "partner": ids[kept.partner], "similarity": kept.similarity, "mixed": kept.mixed}
    job.scatter("kept-pairs", task, pa.table(rows), owner // job.sizes.owners, shards)
    some = np.flatnonzero(degrees)
    job.scatter(
        "found-pairs", task, pa.table({"id": ids[some], "pairs": degrees[some]}), ids[some] // job.sizes.owners, shards
    )
    return {"pairs": int(degrees.sum(dtype=np.int64)) // 2}
