from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from graphkin.protocol.errors import InvalidInput
from graphkin.store import csr
from graphkin.store.records import Edges
from graphkin.store.sampling.snapshot import SnapshotSampler

# Degrees 3, 2, 2, 1, and two vertices without neighbors.
TOY = {(0, 1): 0.5, (0, 2): 0.5, (1, 2): 0.5, (0, 4): 0.5}
WEIGHTS = {0: 3**0.75, 1: 2**0.75, 2: 2**0.75, 4: 1.0}


@pytest.fixture(scope="module")
def toy_sampler(graph_of):
    return SnapshotSampler(graph_of(6, TOY), "toy")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_batches_follow_successive_sampling_by_degree(toy_sampler, follows, successive, count):
    follows(toy_sampler.negatives(0, 0, 0, 40_000, count), successive(WEIGHTS, count))


def test_sampling_all_vertices_follows_the_same_distribution():
    """The sampler must not bias the last vertices, which rejection sampling reaches slowly.

    In successive sampling of all vertices, i comes before j with probability w_i / (w_i + w_j).
    """
    pendant = [(0, 20), (1, 21), (2, 22), (3, 22), (4, 23), (5, 23)]  # degrees 1, 1, 2, 2, on a clique of 20
    source, target = np.array([*combinations(range(20), 2), *pendant], dtype=np.int32).T
    graph = csr.build(Edges(source, target, np.full(len(source), 0.5, np.float32)), 24)
    weights = graph.degrees() ** 0.75
    batches = SnapshotSampler(graph, "pendant").negatives(0, 0, 0, 20_000, 24)
    assert (np.sort(batches, axis=1) == np.arange(24)).all()
    place = np.argsort(batches, axis=1)
    for i, j in [(22, 20), (23, 21), (21, 20), (0, 20), (9, 22), (0, 9)]:
        earlier = int((place[:, i] < place[:, j]).sum())
        assert stats.binomtest(earlier, len(batches), weights[i] / (weights[i] + weights[j])).pvalue > 1e-3


def test_frequencies_follow_degree_to_three_quarters(random_graph):
    samples = SnapshotSampler(random_graph, "g").negatives(1, 2, 0, 200_000, 1)
    weights = random_graph.degrees() ** 0.75
    observed = np.bincount(samples[:, 0], minlength=len(weights))
    assert observed[weights == 0].sum() == 0
    eligible = weights > 0
    assert stats.chisquare(observed[eligible], 200_000 * weights[eligible] / weights.sum()).pvalue > 1e-3


def test_batch_holds_distinct_vertices_with_neighbors(random_graph):
    samples = SnapshotSampler(random_graph, "g").negatives(0, 0, 0, 64, 255)
    assert samples.shape == (64, 255)
    assert samples.dtype == np.int32
    assert (np.diff(np.sort(samples, axis=1)) > 0).all()
    assert (random_graph.degrees()[samples] > 0).all()


def test_batch_depends_only_on_its_number(random_graph):
    sampler = SnapshotSampler(random_graph, "g")
    many = sampler.negatives(5, 6, 10, 3000, 7)
    assert (SnapshotSampler(random_graph, "g", threads=3).negatives(5, 6, 10, 3000, 7) == many).all()
    assert (sampler.negatives(5, 6, 1500, 20, 7) == many[1490:1510]).all()
    for other in (sampler.negatives(4, 6, 10, 5, 7), sampler.negatives(5, 7, 10, 5, 7)):
        assert (other != many[:5]).any(axis=1).all()
    assert len(np.unique(many, axis=0)) == 3000


def test_more_negatives_than_eligible_vertices_are_refused(toy_sampler, graph_of):
    with pytest.raises(InvalidInput, match="at most 4"):
        toy_sampler.negatives(0, 0, 0, 1, 5)
    with pytest.raises(InvalidInput, match="at most 0"):
        SnapshotSampler(graph_of(3, {}), "empty").negatives(0, 0, 0, 1, 1)


@pytest.mark.parametrize("first", [-1, 2**32])
def test_batch_number_out_of_range_is_refused(toy_sampler, first):
    with pytest.raises(InvalidInput, match="batch is out of range"):
        toy_sampler.negatives(0, 0, first, 1, 1)
