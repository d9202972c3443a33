"""Verification of a stored similarity graph: items and similarities recomputed from the stored structures."""

import numpy as np

from graphkin.similarity.kind import Kind
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation, rounded
from graphkin.store.records import Edges

_TOLERANCE = 1e-6  # absolute error of a similarity that is stored as float32


def verify(generation: Generation, sample: int, seed: int = 0) -> list[str]:
    """Return a message for every problem; an empty list means that no problem was detected.

    Damaged files are reported first. If there are none, `sample` random items and edges are recomputed by RDKit or
    GraKeL and compared with the stored ones.
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
    """Return random edges, each at most once."""
    count = generation.manifest.edges
    chosen = np.sort(random.choice(count, min(sample, count), replace=False))
    picked: list[Edges] = []
    passed = 0
    for block in generation.edges():
        first, last = np.searchsorted(chosen, [passed, passed + len(block)])
        picked.append(block.take(chosen[first:last] - passed))
        passed += len(block)
    return Edges.concatenate(picked)
