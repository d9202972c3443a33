"""All similar pairs of a generation, computed again without the top-k limit."""

from collections.abc import Callable, Iterator

import numpy as np

from graphkin.protocol.errors import InvalidInput, require
from graphkin.protocol.parameters import choose_wording, parameter
from graphkin.runtime.memory import available_memory
from graphkin.similarity.batch import float64_bound
from graphkin.similarity.kind import Advance, Descriptors
from graphkin.similarity.kinds import kind_of
from graphkin.store.base import Generation, as_float32
from graphkin.store.kernels import kernel
from graphkin.store.records import Edges, Float32, Int32, Int64

BYTES_PER_EDGE = 24
"""Memory that an edge takes while edges are sorted; 12 bytes remain."""


def exact_descriptors(generation: Generation, threshold: float) -> Descriptors:
    """Return the descriptors of all items, whose `pairs` are all pairs ≥ `threshold` without a top-k limit."""
    kind = kind_of(generation)
    settings = {"threshold": threshold, "top_k": 0, "candidates": "exact", "ties": "hash"}
    recipe = kind.recipe(generation.manifest.recipe).model_copy(update=settings)
    return kind.load_descriptors(generation, recipe, kind.digests(generation, recipe))


def complete_pairs(
    generation: Generation, min_similarity: float | None, threads: int, advance: Advance = lambda _: None
) -> Iterator[Edges]:
    """Yield blocks of all pairs of items ≥ a threshold, each pair once, in any order.

    If the top-k limit truncated no pair, they are the stored edges ≥ the threshold.

    Args:
        generation: The generation.
        min_similarity: The lowest similarity, compared after rounding to float32. It may be below the stored
            threshold, which is the default.
        threads: The number of threads.
        advance: A function that is called with the number of compared items.

    Raises:
        InvalidInput: The threshold is out of range.
    """
    require(
        min_similarity is None or 0 < min_similarity <= 1,
        "min_similarity",
        min_similarity,
        "a similarity above 0 and at most 1",
        hint=f"leave {parameter('--min-similarity')} out for the stored threshold",
    )
    return _edges_of(
        exact_descriptors(generation, _join_threshold(generation, min_similarity)), min_similarity, threads, advance
    )


def _join_threshold(generation: Generation, min_similarity: float | None) -> float:
    """Return a float64 threshold that all pairs reach whose similarity reaches `min_similarity` in float32.

    Pairs below the stored threshold τ never round up into a result for τ or more, because they are no edges.
    """
    stored = generation.manifest.threshold
    if min_similarity is None:
        return stored
    bound = float64_bound(as_float32(min_similarity))
    return bound if min_similarity < stored else max(bound, stored)


def _edges_of(
    descriptors: Descriptors, min_similarity: float | None, threads: int, advance: Advance
) -> Iterator[Edges]:
    threshold = as_float32(min_similarity)
    for pairs in descriptors.pairs(0, threads, advance):
        edges = pairs.edges()
        yield edges.take(edges.similarity >= threshold)


def complete_edges(
    generation: Generation,
    min_similarity: float | None,
    sources: range,
    threads: int,
    advance: Advance = lambda _: None,
    memory: Callable[[], int] = available_memory,
) -> Edges:
    """Return all pairs of items ≥ a threshold whose lower id is in `sources`, ordered by source, then target.

    Args:
        generation: The generation.
        min_similarity: The lowest similarity, as in `complete_pairs`.
        sources: The lower ids.
        threads: The number of threads.
        advance: A function that is called with the number of compared items.
        memory: Returns the number of bytes that the edges may take.

    Raises:
        InvalidInput: The threshold is out of range, or there are more pairs than the memory holds.
    """
    limit = memory() // BYTES_PER_EDGE
    blocks, count = list[Edges](), 0
    for block in complete_pairs(generation, min_similarity, threads, advance):
        if len(sources) < generation.size:
            block = block.take((block.source >= sources.start) & (block.source < sources.stop))
        blocks.append(block)
        count += len(block)
        if count > limit:
            raise InvalidInput(
                "the pairs do not fit into the available memory",
                given=f"more than {count:,} pairs",
                expected=f"at most {limit:,} pairs, {BYTES_PER_EDGE} bytes each",
                hint=choose_wording(
                    command_line="raise --min-similarity, or select sources with --start and --stop",
                    python="raise min_similarity, or select sources with start and stop",
                )
                + f"; an ingest with {parameter('--top-k', 0)} stores all pairs",
            )
    return _sort(blocks, generation.size)


def _sort(blocks: list[Edges], items: int) -> Edges:
    """Order edges by source, then target. The list of blocks is emptied to release its memory."""
    counts = np.zeros(items, np.int64)
    for block in blocks:
        counts += np.bincount(block.source, minlength=items)
    starts = np.append(0, np.cumsum(counts))
    target, similarity = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    free = starts[:-1].copy()
    while blocks:
        block = blocks.pop()
        _place(block.source, block.target, block.similarity, free, target, similarity)
    _sort_rows(starts, target, similarity)
    return Edges(np.repeat(np.arange(items, dtype=np.int32), counts), target, similarity)


@kernel
def _place(
    source: Int32, target: Int32, similarity: Float32, free: Int64, targets: Int32, similarities: Float32
) -> None:
    """Write each edge to the next free place of its source."""
    for edge in range(len(source)):
        place = free[source[edge]]
        targets[place], similarities[place] = target[edge], similarity[edge]
        free[source[edge]] = place + 1


@kernel
def _sort_rows(starts: Int64, target: Int32, similarity: Float32) -> None:
    """Sort the edges of each source by target."""
    for row in range(len(starts) - 1):
        begin, end = starts[row], starts[row + 1]
        order = np.argsort(target[begin:end])
        target[begin:end] = target[begin:end][order]
        similarity[begin:end] = similarity[begin:end][order]
