from itertools import pairwise

import numpy as np
import pytest

from graphkin.protocol.policy import Policy
from graphkin.store.sampling import philox, transitions, walks
from graphkin.store.sampling.snapshot import SnapshotSampler

ANCHORS = [0, 1, 17, 500, 1300, 2500, 2895]


@pytest.fixture(scope="module")
def sampler(random_graph):
    return SnapshotSampler(random_graph, "g")


@pytest.fixture(scope="module")
def similarity(random_graph):
    """Return {(i, j): similarity} of each stored edge, in both directions."""
    owner = np.repeat(np.arange(random_graph.nodes), random_graph.degrees())
    return dict(
        zip(zip(owner.tolist(), random_graph.indices.tolist(), strict=True), random_graph.similarity, strict=True)
    )


def explanations(sampler, similarity, policy):
    """Yield the explanations of some anchors, after the checks that hold for all policies."""
    sets = sampler.positives(np.array(ANCHORS, dtype=np.int32), policy, 4, 5)
    for row, anchor in enumerate(ANCHORS):
        positives = sampler.explain(anchor, policy, 4, 5)
        assert [positive.id for positive in positives] == sets.positives[row, : sets.counts[row]].tolist()
        for slot, positive in enumerate(positives):
            assert positive.direct == ((anchor, positive.id) in similarity)
            assert positive.similarity == similarity.get((anchor, positive.id))
            assert positive.visits == (int(sets.visits[row, slot]) if policy.name == "random_walk" else None)
            assert (positive.path[0], positive.path[-1]) == (anchor, positive.id)
            assert all(step in similarity for step in pairwise(positive.path))
            yield anchor, positive


@pytest.mark.parametrize("pad", ["resample", "self"])
def test_first_order_positives_are_one_edge_away(sampler, similarity, pad):
    paths = [
        (anchor, p) for anchor, p in explanations(sampler, similarity, Policy.from_name("first_order", k=16, pad=pad))
    ]
    padded = [positive for anchor, positive in paths if positive.id == anchor]
    assert all(positive.path == (positive.id,) for positive in padded)
    assert bool(padded) == (pad == "self")
    assert all(len(positive.path) == 2 for anchor, positive in paths if positive.id != anchor)


def test_second_order_path_takes_the_strongest_middle(sampler, similarity):
    lengths = set()
    for anchor, positive in explanations(sampler, similarity, Policy.from_name("second_order", k=24)):
        lengths.add(len(positive.path))
        if positive.direct:
            assert len(positive.path) == 2
            continue
        middles = {
            middle: min(similarity[anchor, middle], similarity[middle, positive.id])
            for start, middle in similarity
            if start == anchor and (middle, positive.id) in similarity
        }
        widest = max(middles.values())
        assert positive.path[1] == min(middle for middle, width in middles.items() if width == widest)
    assert lengths == {2, 3}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"rank": "top", "walks": 3, "k": 10, "pad": "self"},
        {"length": 6, "p_end": 0.3, "p": 2, "q": 0.5, "k": 9},
        {"length": 9, "restart": 0.5, "q": 0.5, "k": 9},
    ],
    ids=["default", "top", "long", "restarting"],
)
def test_walk_path_starts_at_the_last_visit_of_the_anchor(sampler, random_graph, similarity, parameters):
    policy = Policy.from_name("random_walk", **parameters)
    key = philox.replay_key(4, "g", policy.canonical(), 5)
    trails = np.empty((policy.walks, policy.length), np.int32)
    for anchor, positive in explanations(sampler, similarity, policy):
        if positive.id == anchor:
            assert positive.path == (anchor,)
            continue
        walks.take_walks(transitions.from_graph(random_graph), anchor, key, walks.from_policy(policy), trails)
        first = next(trail for trail in trails.tolist() if positive.id in trail)
        prefix = [anchor, *first[: first.index(positive.id) + 1]]
        assert positive.path == tuple(prefix[max(index for index, id in enumerate(prefix) if id == anchor) :])


def test_equal_middles_are_ordered_by_id(graph_of):
    square = {(0, 1): 0.5, (0, 2): 0.5, (1, 3): 0.9, (2, 3): 0.7}
    sampler = SnapshotSampler(graph_of(4, square), "square")
    assert {p.path for p in sampler.explain(0, Policy.from_name("second_order", k=3), 0, 0) if p.id == 3} == {(0, 1, 3)}


def test_isolated_anchor_has_no_explanation(sampler):
    for policy in (
        Policy.from_name("first_order", pad="self"),
        Policy.from_name("random_walk", rank="top", pad="self"),
    ):
        assert sampler.explain(2950, policy, 0, 0) == []
