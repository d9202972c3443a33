"""The `cypher` engine gives the samples of `snapshot` and reads only rows."""

from dataclasses import fields

import numpy as np
import pytest

from graphkin.protocol.errors import NotFound
from graphkin.protocol.policy import Policy
from graphkin.store import open_store
from graphkin.store.neo4j import rows
from graphkin.store.neo4j.rows import CypherSampler

POLICIES = [
    Policy.from_name("first_order", k=5),
    Policy.from_name("first_order", k=64, pad="self"),
    Policy.from_name("second_order", k=8),
    Policy.from_name("random_walk", k=4),
    Policy.from_name("random_walk", k=4, walks=20, length=6, p=0.25, q=4.0, rank="count"),
    Policy.from_name("random_walk", k=4, walks=5, length=8, p_end=0.2, restart=0.3, rank="top", pad="self"),
]
ANCHORS = np.array([3, 40, 3, 99, 0], np.int32)


@pytest.fixture(scope="module")
def generation(spare_neo4j, hierarchy):
    """Return a random graph of 100 items, of which the last is isolated."""
    random = np.random.default_rng(5)
    pairs = {
        (a, b): round(random.uniform(0.4, 1.0), 4)
        for a in range(99)
        for b in range(a + 1, 99)
        if random.random() < 0.06
    }
    items = [{"smiles": f"{n}", "names": [], "properties": {}} for n in range(100)]
    spare_neo4j.clear()
    with open_store(spare_neo4j.url, create=True) as store:
        hierarchy(items, pairs, []).publish(store, "random")
        yield store.open("random")


@pytest.fixture
def queries(generation):
    """Return a sampler that cannot read the whole graph, and the list of the ids of each of its queries."""
    read_ids = []

    def read(ids):
        read_ids.append(ids.tolist())
        return generation._rows(ids, np.float32(0))

    return CypherSampler(generation, read), read_ids


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.canonical())
def test_samples_equal_those_of_the_snapshot(generation, queries, monkeypatch, policy):
    snapshot, (sampler, read_ids) = generation.sampler("snapshot"), queries
    monkeypatch.setattr(generation, "graph", None)
    for epoch in range(3):
        expected, sets = (each.positives(ANCHORS, policy, 7, epoch) for each in (snapshot, sampler))
        for field in fields(sets):
            assert np.array_equal(getattr(sets, field.name), getattr(expected, field.name)), field.name
    for anchor in (3, 99):
        assert sampler.explain(anchor, policy, 7, 0) == snapshot.explain(anchor, policy, 7, 0)
    steps = {"first_order": 1, "second_order": 2}.get(policy.name, policy.length)
    assert len(read_ids) <= 5 * steps


def test_no_row_is_read_twice(queries):
    sampler, read_ids = queries
    sampler.positives(ANCHORS, POLICIES[4], 7, 0)
    ids = [id for request in read_ids for id in request]
    assert len(read_ids) > 2
    assert len(ids) == len(set(ids))


def test_large_requests_read_the_graph(generation, queries, monkeypatch):
    monkeypatch.setattr(rows, "MAX_ANCHORS", 4)
    snapshot, (sampler, read_ids) = generation.sampler("snapshot"), queries
    sets, expected = (each.positives(ANCHORS, POLICIES[0], 7, 0) for each in (sampler, snapshot))
    assert np.array_equal(sets.positives, expected.positives)
    assert np.array_equal(sampler.negatives(1, 0, 0, 2, 5), snapshot.negatives(1, 0, 0, 2, 5))
    assert np.array_equal(sampler.connecting_path(3, 40, 3), snapshot.connecting_path(3, 40, 3))
    assert read_ids == []


def test_unknown_anchor_is_refused(queries):
    with pytest.raises(NotFound, match="100"):
        queries[0].positives(np.array([100], np.int32), POLICIES[0], 0, 0)
