"""Checking a stored hierarchy: items and similarities computed again from the stored structures."""

import numpy as np

from graphkin.similarity.kind import Kind
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation, rounded
from graphkin.store.records import Edges

_TOLERANCE = 1e-6  # of a similarity stored as float32


def verify(generation: Generation, sample: int, seed: int = 0) -> list[str]:
    """Everything found wrong: damaged files, and among `sample` random items and edges, what RDKit or GraKeL disagrees
    with. Empty when all is well.
    """
    problems = generation.check()
    if problems:
        return problems
    kind = kind_of(generation)
    random = np.random.default_rng(seed)
    return [*kind.wrong_items(generation, sample, random), *_wrong_edges(kind, generation, sample, random)]


def _wrong_edges(kind: Kind[Recipe], generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
    edges = _sampled(generation, sample, random)
    again = kind.recomputed(generation, edges)
    wrong = (np.abs(again - edges.similarity) > _TOLERANCE) | (
        again.astype(np.float32) < rounded(generation.manifest.threshold)
    )
    return [
        f"edge {a}-{b}: stored similarity {stored}, computed again {similarity:.9f}"
        for a, b, stored, similarity in zip(
            edges.source[wrong], edges.target[wrong], edges.similarity[wrong], again[wrong], strict=True
        )
    ]


def _sampled(generation: Generation, sample: int, random: np.random.Generator) -> Edges:
    """Random edges, each at most once."""
    count = generation.manifest.edges
    chosen = np.sort(random.choice(count, min(sample, count), replace=False))
    picked: list[Edges] = []
    passed = 0
    for block in generation.edges():
        first, last = np.searchsorted(chosen, [passed, passed + len(block)])
        picked.append(block.take(chosen[first:last] - passed))
        passed += len(block)
    return Edges.concatenate(picked)
