import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkin.protocol.errors import NotFound
from graphkin.protocol.policy import Policy
from graphkin.store.sampling.snapshot import SnapshotSampler

POLICIES = [
    Policy.from_name("first_order"),
    Policy.from_name("first_order", k=20, pad="self"),
    Policy.from_name("second_order", k=4),
    Policy.from_name("random_walk"),
    Policy.from_name("random_walk", rank="top", p_end=0.2, walks=7, length=4),
    Policy.from_name("random_walk", rank="count", p=0.5, q=2),
    Policy.from_name("random_walk", rank="count", length=8, restart=0.3),
]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=Policy.canonical)


def same(first, second, rows=slice(None)):
    return all(np.array_equal(getattr(first, part.name), getattr(second, part.name)[rows]) for part in fields(first))


@pytest.fixture(scope="module")
def sampler(random_graph):
    return SnapshotSampler(random_graph, "generation", threads=2)


@pytest.fixture(scope="module")
def epoch(sampler, random_graph):
    """Return epoch(policy), the positive sets of all anchors in order, for seed 11 and epoch 3."""
    anchors = np.arange(random_graph.nodes, dtype=np.int32)
    samples = {policy: sampler.positives(anchors, policy, 11, 3) for policy in POLICIES}
    return samples.__getitem__


@settings(deadline=None)  # the first example compiles
@given(st.sampled_from(POLICIES), st.lists(st.integers(0, 2999), max_size=40))
def test_samples_do_not_depend_on_batch_order_or_repeats(sampler, epoch, policy, ids):
    anchors = np.array(ids, dtype=np.int32)
    assert same(sampler.positives(anchors, policy, 11, 3), epoch(policy), anchors)


@each_policy
@pytest.mark.parametrize("threads", [1, 5])
def test_samples_do_not_depend_on_threads(random_graph, epoch, policy, threads):
    anchors = np.arange(random_graph.nodes, dtype=np.int32)[::-1]
    samples = SnapshotSampler(random_graph, "generation", threads=threads).positives(anchors, policy, 11, 3)
    assert same(samples, epoch(policy), anchors)


def test_samples_do_not_depend_on_concurrent_callers(sampler, random_graph, epoch):
    anchors = np.arange(random_graph.nodes, dtype=np.int32)
    with ThreadPoolExecutor(6) as callers:
        samples = list(callers.map(lambda policy: sampler.positives(anchors, policy, 11, 3), POLICIES * 3))
    assert all(same(sets, epoch(policy)) for sets, policy in zip(samples, POLICIES * 3, strict=True))


@each_policy
def test_samples_change_with_seed_epoch_and_generation(sampler, random_graph, epoch, policy):
    anchors = np.arange(random_graph.nodes, dtype=np.int32)
    for other in (
        sampler.positives(anchors, policy, 12, 3),
        sampler.positives(anchors, policy, 11, 4),
        SnapshotSampler(random_graph, "another").positives(anchors, policy, 11, 3),
    ):
        assert (other.positives != epoch(policy).positives).any(axis=1).sum() > 1000


def test_samples_are_the_same_in_another_process(tmp_path, random_graph, epoch):
    for part in ("indptr", "indices", "similarity"):
        np.save(tmp_path / f"{part}.npy", getattr(random_graph, part))
    script = f"""
import hashlib, numpy as np
from graphkin.store.records import Graph
from graphkin.protocol.policy import Policy
from graphkin.store.sampling.snapshot import SnapshotSampler
graph = Graph(*(np.load(f"{tmp_path}/{{part}}.npy", mmap_mode="r") for part in ("indptr", "indices", "similarity")))
sampler = SnapshotSampler(graph, "generation")
for policy in {[policy.model_dump() for policy in POLICIES]}:
    sets = sampler.positives(np.arange(graph.nodes, dtype=np.int32), Policy(**policy), 11, 3)
    print(hashlib.sha256(sets.positives.tobytes() + sets.visits.tobytes()).hexdigest())
"""
    there = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    here = [hashlib.sha256(epoch(p).positives.tobytes() + epoch(p).visits.tobytes()).hexdigest() for p in POLICIES]
    assert there == here


def test_samples_of_this_release_are_frozen(graph_of):
    """A replay must survive an upgrade. Change these values only with the major version."""
    ring = {(i, i + 1): 0.5 + i / 100 for i in range(19)} | {(0, 19): 0.7} | {(i, i + 7): 0.6 for i in range(12)}
    sampler = SnapshotSampler(graph_of(20, ring), "ring")
    anchors = np.array([0, 7], dtype=np.int32)
    samples = [sampler.positives(anchors, policy, 1, 2).positives.tolist() for policy in [POLICIES[0], *POLICIES[2:]]]
    assert samples == [
        [[1, 19, 7], [8, 14, 0]],
        [[19, 8, 14, 7], [8, 15, 6, 13]],
        [[19, 1, 1, 18, 18], [13, 0, 14, 5, 6]],
        [[19, 18, 7, 1, 3], [0, 14, 6, 13, 1]],
        [[7, 19, 1, 1, 19], [14, 8, 0, 14, 0]],
        [[3, 2, 8, 2, 3], [8, 14, 11, 14, 15]],
    ]
    assert sampler.negatives(1, 2, 3, 1, 5).tolist() == [[8, 7, 1, 10, 3]]


@each_policy
def test_each_anchor_gets_k_positives_unless_isolated(random_graph, epoch, policy):
    sets = epoch(policy)
    isolated = random_graph.degrees() == 0
    assert isolated.sum() >= 100
    assert np.array_equal(sets.isolated, isolated)
    assert np.array_equal(sets.counts, np.where(isolated, 0, policy.k))
    assert (sets.positives[isolated] == -1).all()
    assert (sets.visits[isolated] == 0).all()
    assert (sets.positives[~isolated] >= 0).all()
    assert ((sets.visits > 0).all(axis=1) == (~isolated & (policy.name == "random_walk"))).all()
    types = {part.name: getattr(sets, part.name).dtype.name for part in fields(sets)}
    assert types == {
        "anchors": "int32",
        "counts": "uint16",
        "isolated": "bool",
        "positives": "int32",
        "visits": "uint16",
    }
    if policy.pad == "resample":
        assert (sets.positives != sets.anchors[:, np.newaxis]).all()


@each_policy
def test_no_anchors_give_no_sets(sampler, policy):
    sets = sampler.positives(np.empty(0, np.int32), policy, 0, 0)
    assert len(sets) == 0
    assert sets.positives.shape == sets.visits.shape == (0, policy.k)


@pytest.mark.parametrize("anchor", [-1, 3000])
def test_unknown_anchor_is_refused_by_id(sampler, anchor):
    with pytest.raises(NotFound, match=f"no item {anchor}\n.*\n.*0 to 2999"):
        sampler.positives(np.array([5, anchor], dtype=np.int32), POLICIES[0], 0, 0)
    with pytest.raises(NotFound):
        sampler.explain(anchor, POLICIES[0], 0, 0)


def test_graph_without_edges_has_only_isolated_anchors(graph_of):
    sampler = SnapshotSampler(graph_of(3, {}), "empty")
    for policy in POLICIES:
        assert sampler.positives(np.arange(3, dtype=np.int32), policy, 0, 0).isolated.all()
        assert sampler.explain(1, policy, 0, 0) == []
