"""Guarantees of the gds sampler besides its distributions."""

from dataclasses import fields
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.protocol.policy import Policy
from graphkin.protocol.values import MAX_SEED
from graphkin.store.neo4j import gds
from graphkin.store.neo4j.gds import GdsSampler
from graphkin.store.sampling.snapshot import SnapshotSampler

SIZE = 300
POLICIES = [
    Policy.from_name("first_order"),
    Policy.from_name("first_order", k=12, pad="self"),
    Policy.from_name("random_walk"),
    Policy.from_name("random_walk", rank="top", p_end=0.2, walks=7, length=4, k=9),
    Policy.from_name("random_walk", rank="top", pad="self", walks=2, length=1),
    Policy.from_name("random_walk", rank="count", p=0.5, q=2),
]
IN_PROCESS = [
    Policy.from_name("second_order"),
    Policy.from_name("random_walk", p=17),
    Policy.from_name("random_walk", p=0.1, q=10),
    Policy.from_name("random_walk", length=8, restart=0.3),
]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=Policy.canonical)


@pytest.fixture(scope="module")
def edges():
    """Return a sparse random graph whose last 40 items are isolated."""
    random = np.random.default_rng(11)
    ends = {tuple(sorted(pair)) for pair in random.integers(0, SIZE - 40, (700, 2)).tolist() if pair[0] != pair[1]}
    return dict(zip(sorted(ends), random.uniform(0.4, 1, len(ends)).astype(np.float32).tolist(), strict=True))


@pytest.fixture(scope="module")
def graph(edges):
    graph = nx.Graph()
    graph.add_nodes_from(range(SIZE))
    graph.add_weighted_edges_from((a, b, similarity) for (a, b), similarity in edges.items())
    return graph


@pytest.fixture(scope="module")
def generation(publish, edges):
    return publish("sparse", SIZE, edges)


@pytest.fixture(scope="module")
def sampler(generation):
    return generation.sampler("gds")


def all_items(size=SIZE):
    return np.arange(size, dtype=np.int32)


def is_same(one, other, rows=slice(None)):
    return all(np.array_equal(getattr(one, part.name), getattr(other, part.name)[rows]) for part in fields(one))


@each_policy
def test_every_anchor_gets_k_positives_unless_isolated(sampler, graph, policy):
    sets = sampler.positives(all_items(), policy, 0, 0)
    isolated = np.array([graph.degree(item) == 0 for item in range(SIZE)])
    assert isolated.sum() >= 40
    assert np.array_equal(sets.anchors, all_items())
    assert np.array_equal(sets.isolated, isolated)
    assert np.array_equal(sets.counts, np.where(isolated, 0, policy.k))
    assert (sets.positives[isolated] == -1).all()
    assert (sets.visits[isolated] == 0).all()
    types = [getattr(sets, part.name).dtype.name for part in fields(sets)]
    assert types == ["int32", "uint16", "bool", "int32", "uint16"]
    reach = 1 if policy.name == "first_order" else policy.length
    for anchor in np.flatnonzero(~isolated):
        near = nx.single_source_shortest_path_length(graph, anchor, reach)
        assert set(sets.positives[anchor].tolist()) <= set(near)
        if policy.pad == "resample":
            assert anchor not in sets.positives[anchor]
        if policy.name == "first_order":
            whole = min(policy.k, graph.degree(anchor))
            assert len(set(sets.positives[anchor, :whole].tolist()) - {anchor}) == whole
            assert policy.pad == "resample" or (sets.positives[anchor, whole:] == anchor).all()
    walked = (sets.visits > 0) == ((sets.positives >= 0) & (sets.positives != all_items()[:, np.newaxis]))
    assert walked.all() if policy.name == "random_walk" else not sets.visits.any()


@each_policy
def test_samples_do_not_depend_on_batch_order_or_repetition(sampler, policy):
    whole = sampler.positives(all_items(), policy, 11, 3)
    anchors = np.random.default_rng(0).integers(0, SIZE, 100).astype(np.int32)
    anchors[:3] = anchors[3], SIZE - 1, anchors[3]
    assert is_same(sampler.positives(anchors, policy, 11, 3), whole, anchors)


@each_policy
def test_samples_change_with_seed_and_epoch(sampler, policy):
    first = sampler.positives(all_items(), policy, 0, 0).positives
    for seed, epoch in ((1, 0), (0, 1), (MAX_SEED, 0)):
        assert (sampler.positives(all_items(), policy, seed, epoch).positives != first).any(axis=1).sum() > 20


def test_samples_of_no_anchors_and_of_isolated_ones(sampler):
    for policy in POLICIES:
        assert sampler.positives(all_items(0), policy, 0, 0).positives.shape == (0, policy.k)
        assert sampler.positives(np.array([SIZE - 1, SIZE - 2, SIZE - 1]), policy, 0, 0).isolated.all()
        assert sampler.explain(SIZE - 1, policy, 0, 0) == []


def test_invalid_requests_are_refused(sampler):
    for anchor in (-1, SIZE):
        with pytest.raises(NotFound, match=f"no item {anchor}\n.*\n.*0 to {SIZE - 1}"):
            sampler.positives(np.array([0, anchor]), POLICIES[0], 0, 0)
        with pytest.raises(NotFound):
            sampler.explain(anchor, POLICIES[2], 0, 0)
    for seed, epoch in ((-1, 0), (MAX_SEED + 1, 0), (0, -1)):
        with pytest.raises(InvalidInput, match="out of range"):
            sampler.positives(all_items(), POLICIES[2], seed, epoch)


@each_policy
def test_positives_are_explained_by_the_shortest_path(sampler, graph, policy):
    anchors = np.array([0, 50, 100, 150])
    sets = sampler.positives(anchors, policy, 4, 5)
    for row, anchor in enumerate(anchors.tolist()):
        explained = sampler.explain(anchor, policy, 4, 5)
        assert [positive.id for positive in explained] == sets.positives[row, : sets.counts[row]].tolist()
        for slot, positive in enumerate(explained):
            assert (positive.path[0], positive.path[-1]) == (anchor, positive.id)
            assert len(positive.path) - 1 == nx.shortest_path_length(graph, anchor, positive.id)
            assert all(graph.has_edge(*step) for step in pairwise(positive.path))
            assert positive.direct == graph.has_edge(anchor, positive.id)
            weight = graph.edges[anchor, positive.id]["weight"] if positive.direct else None
            assert positive.similarity == weight
            assert positive.visits == (sets.visits[row, slot] if policy.name == "random_walk" else None)


@pytest.mark.parametrize("policy", IN_PROCESS, ids=Policy.canonical)
def test_policies_without_exact_gds_equal_the_snapshot_sampler(sampler, generation, policy):
    snapshot = SnapshotSampler(generation.graph(), generation.id)
    assert is_same(sampler.positives(all_items(), policy, 1, 2), snapshot.positives(all_items(), policy, 1, 2))
    assert sampler.explain(7, policy, 1, 2) == snapshot.explain(7, policy, 1, 2)


def test_negatives_and_connecting_paths_equal_the_snapshot_sampler(sampler, generation, graph):
    snapshot = SnapshotSampler(generation.graph(), generation.id)
    assert np.array_equal(sampler.negatives(1, 2, 3, 4, 30), snapshot.negatives(1, 2, 3, 4, 30))
    source, target = next(iter(graph.edges))
    for edges in (1, 2, 3):
        paths = [each.connecting_path(source, target, edges) for each in (sampler, snapshot)]
        actual, expected = (None if path is None else path.tolist() for path in paths)
        assert actual == expected


def test_neighbor_of_tiny_similarity_is_sampled(publish, monkeypatch):
    monkeypatch.setattr(gds, "_ROUNDS", 2)
    star = {(0, 1): 1.0, (0, 2): 1e-30, (0, 3): 1.0, (0, 4): 2e-30}
    sampler = GdsSampler(publish("faint", 5, star))
    anchor, thirds = np.zeros(1, np.int32), set()
    for epoch in range(8):
        row = sampler.positives(anchor, Policy.from_name("first_order", k=8), 0, epoch).positives[0].tolist()
        assert set(row[:2]) == {1, 3}
        assert set(row[2:4]) == {2, 4}
        assert set(row[4:]) <= {1, 3}
        thirds.add(row[2])
    assert thirds == {2, 4}


def test_gds_needs_a_neo4j_store(publish_embedded, generation):
    with publish_embedded("c", 3, {(0, 1): 0.5}) as embedded:
        with pytest.raises(InvalidInput, match="gds sampler needs a Neo4j store"):
            embedded.sampler("gds")
        for each in (embedded, generation):
            sampler = each.sampler("snapshot")
            assert isinstance(sampler, SnapshotSampler)
            sampler.prepare()
            assert sampler.is_ready()
