"""Small similarity graphs, and tools to compare samples with exact distributions."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from graphkin.store import csr
from graphkin.store.records import Edges, Graph

Weights = Mapping[tuple[int, int], float]
Law = Mapping[tuple[int, ...], float]


def build(nodes: int, weights: Weights, copies: int = 1) -> Graph:
    pairs = np.array(list(weights), dtype=np.int32).reshape(-1, 2)
    shift = np.repeat(np.arange(copies, dtype=np.int32) * nodes, len(pairs))
    similarity = np.tile(np.array(list(weights.values()), dtype=np.float32), copies)
    source, target = np.tile(pairs[:, 0], copies) + shift, np.tile(pairs[:, 1], copies) + shift
    return csr.build(Edges(source, target, similarity), nodes * copies)


@pytest.fixture(scope="session")
def graph_of() -> Callable[..., Graph]:
    """Return graph_of(nodes, {(i, j): similarity}, copies=1), which builds a graph, or many disjoint copies of it.

    Copy c holds vertex v as c * nodes + v. One call with the anchors of all copies gives independent samples.
    """
    return build


@pytest.fixture(scope="session")
def toy() -> Weights:
    """Return five vertices: a triangle 0-1-2, vertex 3 attached to 2, and vertex 4 attached to 3."""
    return {(0, 1): 0.9, (0, 2): 0.6, (1, 2): 0.7, (2, 3): 0.5, (3, 4): 0.8}


@pytest.fixture(scope="session")
def random_graph() -> Graph:
    """Return 3,000 vertices of mean degree 12, with a few hubs. The last 100 vertices are isolated."""
    random = np.random.default_rng(7)
    ends = (2900 * random.random((18_000, 2)) ** 1.5).astype(np.int64)
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    similarity = random.uniform(0.4, 1.0, len(ends)).astype(np.float32)
    return csr.build(Edges(ends[:, 0].astype(np.int32), ends[:, 1].astype(np.int32), similarity), 3000)


@pytest.fixture(scope="session")
def follows() -> Callable[[Iterable[Iterable[int]], Law], None]:
    """Return follows(outcomes, law), a chi-square test of observed tuples against their exact probabilities."""

    def check(outcomes: Iterable[Iterable[int]], law: Law) -> None:
        assert sum(law.values()) == pytest.approx(1)
        seen = Counter(tuple(int(part) for part in outcome) for outcome in outcomes)
        assert set(seen) <= {outcome for outcome, chance in law.items() if chance > 0}
        expected = np.array(list(law.values())) * seen.total()
        observed = np.array([seen[outcome] for outcome in law], dtype=float)
        rare = expected < 5
        if rare.any():
            expected = np.append(expected[~rare], expected[rare].sum())
            observed = np.append(observed[~rare], observed[rare].sum())
            expected, observed = expected[expected > 0], observed[expected > 0]
        if len(expected) > 1:
            assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-3

    return check


@pytest.fixture(scope="session")
def successive() -> Callable[[Mapping[int, float], int], Law]:
    """Return successive(weights, k), the exact distribution of k ordered samples without replacement."""

    def law(weights: Mapping[int, float], k: int) -> Law:
        chances = {}
        for order in permutations(weights, k):
            left, chance = sum(weights.values()), 1.0
            for item in order:
                chance *= weights[item] / left
                left -= weights[item]
            chances[order] = chance
        return chances

    return law


def transition_matrix(nodes: int, weights: Weights) -> np.ndarray:
    matrix = np.zeros((nodes, nodes))
    for (source, target), similarity in weights.items():
        matrix[source, target] = matrix[target, source] = np.float32(similarity)
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.fixture(scope="session")
def transitions_of() -> Callable[[int, Weights], np.ndarray]:
    """Return transitions_of(nodes, weights), the dense matrix P of a graph without isolated vertices."""
    return transition_matrix
