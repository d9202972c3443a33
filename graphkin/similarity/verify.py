"""Verification of a generation: its files are checked, and items and similarities are recomputed."""

import numpy as np

from graphkin.similarity.kind import Kind
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation, as_float32
from graphkin.store.records import Edges

_TOLERANCE = 1e-6  # absolute error of a similarity that is stored as float32


def verify(generation: Generation, sample: int, seed: int = 0) -> list[str]:
    """Return a message for each problem in a generation, or an empty list if there is none.

    The files are checked first. If none is damaged, random items are compared with their stored structures, and the
    similarities of random edges are recomputed. The recomputation avoids the kernels of ingest where it can: RDKit
    computes Tanimoto similarities, and GraKeL, if it is installed, graph kernels.

    Args:
        generation: The generation to verify.
        sample: Number of items and number of edges to recompute.
        seed: Seed of the sample.
    """
    problems = generation.check()
    if problems:
        return problems
    kind = kind_of(generation)
    random = np.random.default_rng(seed)
    return [*kind.check_items(generation, sample, random), *_wrong_edges(kind, generation, sample, random)]


def _wrong_edges(kind: Kind[Recipe], generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
    edges = _sample_edges(generation, sample, random)
    expected = kind.recompute_similarities(generation, edges)
    is_wrong = (np.abs(expected - edges.similarity) > _TOLERANCE) | (
        expected.astype(np.float32) < as_float32(generation.manifest.threshold)
    )
    return [
        f"edge {a}-{b}: stored similarity {stored}, computed again {similarity:.9f}"
        for a, b, stored, similarity in zip(
            edges.source[is_wrong], edges.target[is_wrong], edges.similarity[is_wrong], expected[is_wrong], strict=True
        )
    ]


def _sample_edges(generation: Generation, sample: int, random: np.random.Generator) -> Edges:
    """Return `sample` different random edges, or all edges if there are fewer."""
    count = generation.manifest.edges
    positions = np.sort(random.choice(count, min(sample, count), replace=False))
    parts: list[Edges] = []
    offset = 0
    for block in generation.edges():
        first, last = np.searchsorted(positions, [offset, offset + len(block)])
        parts.append(block.take(positions[first:last] - offset))
        offset += len(block)
    return Edges.concatenate(parts)
