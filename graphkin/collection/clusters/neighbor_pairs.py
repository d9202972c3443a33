"""All pairs of similar items, from the stored edges where these suffice."""

from collections.abc import Iterator

import numpy as np

from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Descriptors
from graphkin.store.base import Generation, as_float32
from graphkin.store.records import Int32


def neighbor_pairs(
    generation: Generation, descriptors: Descriptors, threshold: float, threads: int, advance: Advance
) -> Iterator[Pairs]:
    """Yield all pairs of items with similarity ≥ `threshold`, each once, also those that the top-k limit truncated.

    At the stored threshold and above, the stored edges are all of these pairs but the truncated ones. A pair is
    truncated if neither end kept it, so both ends have `top_k` edges that reach the threshold. Only such items are
    compared again. An append or a removal updates the edges, so clusters of a changed collection need no other join.

    All items are compared below the stored threshold, and in collections whose edges are not all pairs: those with the
    window rule, and those whose truncated pairs were not counted.

    Args:
        generation: The generation.
        descriptors: `exact_descriptors` of the generation for the threshold.
        threshold: The lowest similarity of a pair, in (0, 1].
        threads: The number of threads.
        advance: A function that is called with the number of items that are done.
    """
    manifest, dropped = generation.manifest, generation.dropped()
    if dropped is None or threshold < manifest.threshold or manifest.recipe["candidates"] != "exact":
        yield from descriptors.pairs(0, threads, advance)
        return
    edges = Pairs.concatenate([*_stored_pairs(generation, descriptors, threshold)])
    reaches_limit = edges.degrees(len(descriptors)) >= manifest.recipe["top_k"]
    limited = np.flatnonzero((dropped > 0) & reaches_limit).astype(np.int32)
    if len(limited) and manifest.links is not None:  # nodes are compared as a whole network only
        yield from descriptors.pairs(0, threads, advance)
        return
    yield edges
    advance(len(descriptors) - len(limited))
    if len(limited):
        yield from _truncated_pairs(descriptors, limited, edges, threads, advance)


def _stored_pairs(generation: Generation, descriptors: Descriptors, threshold: float) -> Iterator[Pairs]:
    """Yield the edges that reach the threshold before their similarity was rounded to float32."""
    for edges in generation.edges(threshold):
        similarity = edges.similarity.astype(np.float64)
        rounded = np.flatnonzero(edges.similarity == as_float32(threshold))
        similarity[rounded] = descriptors.similarities(edges.source[rounded], edges.target[rounded])
        pairs = Pairs(edges.source, edges.target, similarity)
        is_near = np.ones(len(pairs), np.bool_)
        is_near[rounded] = similarity[rounded] >= threshold
        yield pairs.take(is_near)


def _truncated_pairs(
    descriptors: Descriptors, limited: Int32, edges: Pairs, threads: int, advance: Advance
) -> Iterator[Pairs]:
    """Yield the similar pairs of the items `limited`, ascending, that are no edges."""
    size = len(descriptors)
    is_limited = np.zeros(size, np.bool_)
    is_limited[limited] = True
    stored = edges.take(is_limited[edges.left] & is_limited[edges.right])
    stored_keys = stored.left.astype(np.int64) * size + stored.right
    for pairs in descriptors.take(limited).pairs(0, threads, advance):
        left, right = limited[pairs.left], limited[pairs.right]
        is_truncated = ~np.isin(left.astype(np.int64) * size + right, stored_keys, assume_unique=True)
        yield Pairs(left, right, pairs.similarity).take(is_truncated)
