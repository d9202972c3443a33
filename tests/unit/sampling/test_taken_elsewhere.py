"""Positives from walks and samples that another engine drew."""

import numpy as np
import pytest

from graphkin.protocol.policy import Policy
from graphkin.store.sampling import first_order, philox, transitions, walks
from graphkin.store.sampling.snapshot import SnapshotSampler


@pytest.mark.parametrize(
    "parameters",
    [{}, {"p_end": 0.3, "rank": "top", "length": 5}, {"p_end": 0.6, "rank": "count", "pad": "self", "q": 2}],
    ids=["default", "top", "count"],
)
def test_truncated_walks_give_the_positives_of_walks_that_end(random_graph, parameters):
    policy = Policy.from_name("random_walk", **parameters)
    anchors = np.flatnonzero(random_graph.degrees()).astype(np.int32)
    expected = SnapshotSampler(random_graph, "g").positives(anchors, policy, 1, 2)
    key, walk = philox.replay_key(1, "g", policy.canonical(), 2), walks.from_policy(policy)
    trails = np.empty((len(anchors), policy.walks, policy.length), np.int32)
    for row, anchor in enumerate(anchors.tolist()):
        walks.take_walks(transitions.from_graph(random_graph), anchor, key, walk._replace(p_end=0.0), trails[row])
    positives, visits = np.full_like(expected.positives, -1), np.zeros_like(expected.visits)
    walks.sample_from_trails(trails, anchors, key, walk, positives, visits)
    assert np.array_equal(positives, expected.positives)
    assert np.array_equal(visits, expected.visits)


@pytest.mark.parametrize(
    ("degree", "pad_self", "start", "draws", "expected"),
    [
        (9, False, [], [4, 4, 7, 4, 5, 8], [4, 7, 5]),
        (9, False, [7], [7, 4, 4, 7, 5], [7, 4, 5]),
        (9, False, [], [4, 4, 7], [4, 7, -1]),
        (2, False, [], [4, 7, 7, 4], [4, 7, 7]),
        (2, False, [4, 7], [4], [4, 7, 4]),
        (2, False, [4], [4, 4], [4, -1, -1]),
        (2, True, [], [4, 4], [4, -1, -1]),
        (2, True, [4], [4, 7], [4, 7, 1]),
        (1, True, [], [4], [4, 1, 1]),
        (3, True, [], [4, 7, 5, 8], [4, 7, 5]),
    ],
)
def test_first_distinct_samples_become_positives(degree, pad_self, start, draws, expected):
    positives = np.array([start + [-1] * (3 - len(start))], np.int32)
    ends, degrees, anchors = np.array([draws], np.int32), np.array([degree], np.int32), np.ones(1, np.int32)
    first_order.fill_from_samples(ends, degrees, anchors, pad_self, positives)
    assert positives[0].tolist() == expected
