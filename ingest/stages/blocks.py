"""The stages that divide fingerprints into blocks, which the tasks of the exact join compare.

All fingerprints are sorted by popcount, then by id. A block consists of consecutive fingerprints in this order.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.ingest.stages.job import Job
from graphkin.similarity.columns import fixed_width_array, fixed_width_column
from graphkin.similarity.popcount import minimum_common, row_popcounts
from graphkin.store.records import Int64, UInt64

_BLOCKS = 16  # enough for the tasks of many processes
_MAX_GROWTH = 8


def block_size(items: int, smallest: int) -> int:
    """Return the number of fingerprints in a block.

    Bit lists and planes of a block are built again for other blocks, so few large blocks are compared faster than many
    small ones. A large collection therefore has larger blocks.

    Args:
        items: Number of items of the collection.
        smallest: Number of fingerprints in a block of a small collection.
    """
    return min(max(smallest, -(-items // _BLOCKS)), _MAX_GROWTH * smallest)


def sorted_positions(popcounts: list[list[int]]) -> Int64:
    """Return the first position, in the sorted order, of the items of each part with each popcount.

    Args:
        popcounts: For each of R parts of the export, the number of its items with popcount 0, 1, 2, ....

    Returns:
        (R, P) int64 positions by part and popcount.
    """
    width = max(map(len, popcounts))
    counts = np.array([[*part_counts, *[0] * (width - len(part_counts))] for part_counts in popcounts], np.int64)
    below = np.cumsum(counts.sum(axis=0)) - counts.sum(axis=0)
    starts: Int64 = below + np.cumsum(counts, axis=0) - counts
    return starts


def spread(starts: Int64, blocks: int, size: int, job: Job, number: int) -> dict[str, Any]:
    """Scatter the fingerprints of one part of the export to their blocks.

    Args:
        starts: The result of `sorted_positions`.
        blocks: Number of blocks.
        size: Number of fingerprints in a block.
        job: The job.
        number: Number of the part.
    """
    descriptors = job.kind.descriptors(job.read("described", number), job.recipe)
    words = np.ascontiguousarray(descriptors.words)
    popcounts = row_popcounts(words)
    order = np.argsort(popcounts, kind="stable")
    ordered = popcounts[order]
    positions = starts[number][ordered] + np.arange(len(order)) - np.searchsorted(ordered, ordered)
    rows = pa.table(
        {
            "position": positions % size,
            "id": (number * job.sizes.rows + order).astype(np.int32),
            "tie": descriptors.tie[order],
            "words": fixed_width_column(words).take(pa.array(order)),
        }
    )
    job.scatter("spread", number, rows, positions // size, blocks)
    return {}


def gather(parts: int, job: Job, number: int) -> dict[str, Any]:
    """Collect the fingerprints of one block in their order, and write the block.

    The fingerprints are written to a file of their own (`read_words`), because a task that compares several blocks
    holds those of one at a time.
    """
    tables = list(job.gather("spread", parts, number))
    count = sum(map(len, tables))
    ids, tie = np.empty(count, np.int32), np.empty(count, np.uint64)
    words = np.empty((count, tables[0]["words"].type.byte_width // 8), "<u8")
    for table in tables:
        positions = np.asarray(table["position"])
        ids[positions], tie[positions] = np.asarray(table["id"]), np.asarray(table["tie"])
        words[positions] = fixed_width_array(table["words"], "<u8").reshape(len(table), -1)
    job.write_arrays("block", number, ids=ids, tie=tie)
    job.write("words", number, pa.table({"words": fixed_width_column(words)}))
    popcounts = np.bitwise_count(words[[0, -1]]).sum(axis=1)
    return {"least": int(popcounts[0]), "most": int(popcounts[1])}


def read_words(job: Job, number: int) -> UInt64:
    """Return the packed fingerprints of one block, (N, W) uint64."""
    table = job.read("words", number)
    return fixed_width_array(table["words"], "<u8").reshape(len(table), -1)


def plan(reports: list[dict[str, Any]], threshold: float, columns: int) -> list[tuple[int, list[int]]]:
    """Plan the tasks that compare all pairs of blocks whose popcounts allow a similarity ≥ the threshold.

    Each task compares one block with some blocks before it in the order, and possibly with itself. So a task builds the
    bit-sliced planes of only one block. The rows are the blocks with fewer set bits, which is faster.

    Args:
        reports: Results of `gather`, by block.
        threshold: Lowest similarity of a pair.
        columns: Maximum number of blocks that a task compares with its block.

    Returns:
        For each task, its block and the blocks to compare it with.
    """
    min_common = minimum_common(threshold, 2 * max(report["most"] for report in reports))
    tasks = []
    for b, block in enumerate(reports):
        reach = (min_common[report["most"] + block["least"]] <= report["most"] for report in reports[:b])
        near = [*(a for a, reaches in enumerate(reach) if reaches), b]
        tasks += [(b, near[start : start + columns]) for start in range(0, len(near), columns)]
    return tasks
