import numpy as np
import pytest

from graphkin.protocol.policy import Policy
from graphkin.store.sampling.snapshot import SnapshotSampler

NODES = 5
COPIES = 20_000


def second_order(matrix, anchor):
    """Return P2 of docs/concepts/positives.md over the vertices it reaches, normalized without the anchor."""
    mass = matrix[anchor] + matrix[anchor] @ matrix
    mass[anchor] = 0
    return {int(vertex): mass[vertex] / mass.sum() for vertex in np.flatnonzero(mass)}


@pytest.fixture(scope="module")
def toys(graph_of, toy):
    return SnapshotSampler(graph_of(NODES, toy, COPIES), "toys")


def sample(sampler, anchor, **parameters):
    anchors = np.arange(anchor, NODES * COPIES, NODES, dtype=np.int32)
    sets = sampler.positives(anchors, Policy.from_name("second_order", **parameters), 0, 0)
    assert not sets.visits.any()
    return sets.positives % NODES


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("anchor", range(NODES))
def test_samples_follow_p2_without_replacement(toys, toy, transitions_of, follows, successive, anchor, k):
    law = second_order(transitions_of(NODES, toy), anchor)
    if k <= len(law):
        follows(sample(toys, anchor, k=k), successive(law, k))


def test_vertices_of_the_second_hop_are_sampled(toys):
    vertices, counts = np.unique(sample(toys, 0, k=1), return_counts=True)
    assert 3 in vertices  # 0 - 2 - 3
    assert counts[list(vertices).index(3)] > 0.05 * COPIES
    assert 4 not in vertices  # three edges away


def test_neighbor_in_a_triangle_is_likelier_than_a_pendant_one(graph_of, transitions_of):
    weights = {(0, 1): 0.5, (0, 2): 0.5, (1, 2): 0.5, (0, 3): 0.5}  # 0-1-2 is a triangle, 3 hangs on 0
    law = second_order(transitions_of(4, weights), 0)
    sampler = SnapshotSampler(graph_of(4, weights, COPIES), "g")
    anchors = np.arange(0, 4 * COPIES, 4, dtype=np.int32)
    first = np.bincount(sampler.positives(anchors, Policy.from_name("second_order", k=1), 0, 0).positives[:, 0] % 4)
    assert first[1] > 1.2 * first[3]
    assert first[2] > 1.2 * first[3]
    assert first / COPIES == pytest.approx([0, *law.values()], abs=0.015)


def test_padding_follows_p2_or_is_the_anchor(toys, toy, transitions_of, follows, successive):
    law = second_order(transitions_of(NODES, toy), 4)
    positives = sample(toys, 4, k=4)
    follows(positives[:, :2], successive(law, 2))
    follows(positives[:, 2:], {(i, j): law[i] * law[j] for i in law for j in law})
    padded = sample(toys, 4, k=4, pad="self")
    follows(padded[:, :2], successive(law, 2))
    assert (padded[:, 2:] == 4).all()
