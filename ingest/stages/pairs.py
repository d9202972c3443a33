"""The stages that compare fingerprints, and apply the top-k limit to the pairs that each task finds."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.ingest.stages.blocks import read_words
from graphkin.ingest.stages.job import Job
from graphkin.ingest.top_k import TopKSelection
from graphkin.similarity.join import Pairs, SelfJoin, TwoSetJoin
from graphkin.similarity.planes import BitPlanes
from graphkin.store.records import Int32, UInt64


def compare(tasks: list[tuple[int, list[int]]], shards: int, job: Job, task: int) -> dict[str, Any]:
    """Compare one block with the blocks that the plan lists for it.

    Args:
        tasks: The plan: for each task, its block and the blocks to compare it with (`blocks.plan`).
        shards: Number of shards of the graph.
        job: The job.
        task: Number of the task.
    """
    block, partners = tasks[task]
    numbers = list(dict.fromkeys([*partners, block]))
    blocks = [job.read_arrays("block", number) for number in numbers]
    ids, tie = (np.concatenate([arrays[name] for arrays in blocks]) for name in ("ids", "tie"))
    ends = np.cumsum([len(arrays["ids"]) for arrays in blocks])
    starts = {
        number: np.int32(end - len(arrays["ids"])) for number, end, arrays in zip(numbers, ends, blocks, strict=True)
    }

    def task_pairs() -> Iterator[Pairs]:
        planes = BitPlanes.from_words(read_words(job, block))
        for partner in partners:
            join = (SelfJoin if partner == block else TwoSetJoin)(
                read_words(job, partner), job.recipe.threshold, planes
            )
            for pairs in join.pairs():
                yield Pairs(pairs.left + starts[partner], pairs.right + starts[block], pairs.similarity)
            del join  # holds the fingerprints of the partner

    return _scatter_kept(task_pairs(), ids, tie, shards, job, task)


def compare_all(parts: int, shards: int, job: Job, task: int) -> dict[str, Any]:
    """Compare all items in one task. This serves recipes whose comparisons cannot be divided into blocks."""
    described = pa.concat_tables([job.read("described", part) for part in range(parts)])
    descriptors = job.kind.descriptors(described, job.recipe)
    ids = np.arange(len(descriptors), dtype=np.int32)
    return _scatter_kept(descriptors.pairs(0, 1, lambda _: None), ids, descriptors.tie, shards, job, task)


def _scatter_kept(
    pair_blocks: Iterable[Pairs], ids: Int32, tie: UInt64, shards: int, job: Job, task: int
) -> dict[str, Any]:
    """Select the partners that each item keeps, and scatter them, and its number of pairs, to the item's shard."""
    selection = TopKSelection(tie, job.top_k, job.sizes.room)
    for pairs in pair_blocks:
        selection.add(pairs)
    partners, degrees = selection.kept_partners()
    owner = ids[partners.owner]
    rows = {
        "owner": owner,
        "partner": ids[partners.partner],
        "similarity": partners.similarity,
        "pair_hash": partners.pair_hash,
    }
    job.scatter("kept-pairs", task, pa.table(rows), owner // job.sizes.owners, shards)
    with_pairs = np.flatnonzero(degrees)
    job.scatter(
        "found-pairs",
        task,
        pa.table({"id": ids[with_pairs], "pairs": degrees[with_pairs]}),
        ids[with_pairs] // job.sizes.owners,
        shards,
    )
    return {"pairs": int(degrees.sum(dtype=np.int64)) // 2}
