"""The life of a projection: made once, refused, lost, dropped."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

from graphkin.protocol.errors import Deleted, StoreBusy, StoreError
from graphkin.protocol.policy import Policy
from graphkin.store.neo4j.gds import GdsSampler

PATH = {(0, 1): 0.5, (1, 2): 1.0}
WALK = Policy.from_name("random_walk", walks=3, length=2, rank="top", k=4)
_numbers = count()


@pytest.fixture
def generation(publish):
    """A path of three and an isolated item, in a collection of its own."""
    return publish(f"path-{next(_numbers)}", 4, PATH)


@pytest.fixture
def sampler(generation):
    return GdsSampler(generation)


def drawn(sampler, epoch=0):
    return sampler.positives(np.arange(4, dtype=np.int32), WALK, 0, epoch)


def test_the_first_request_makes_it_and_others_find_it(connect, generation, sampler, projections):
    assert not sampler.is_ready()
    before = projections()
    sets = drawn(sampler)
    assert sampler.is_ready()
    assert len(projections()) == len(before) + 1
    elsewhere = GdsSampler(connect().open(generation.collection))
    assert elsewhere.is_ready()
    assert np.array_equal(drawn(elsewhere).positives, sets.positives)
    assert len(projections()) == len(before) + 1
    sampler.drop()
    assert not elsewhere.is_ready()
    assert sorted(projections()) == sorted(before)
    sampler.drop()
    assert np.array_equal(drawn(elsewhere).isolated, sets.isolated)


def test_it_holds_every_item_and_every_edge_both_ways(ask, toys):
    sampler = GdsSampler(toys)
    sampler.prepare()
    sizes = ask("CALL gds.graph.list() YIELD nodeCount, relationshipCount RETURN nodeCount, relationshipCount")
    assert {"nodeCount": toys.size, "relationshipCount": 2 * toys.manifest.edges} in sizes


def test_all_who_come_at_once_get_one(connect, generation, projections):
    before = projections()
    samplers = [GdsSampler(connect().open(generation.collection)) for _ in range(2)] * 3
    barrier = threading.Barrier(len(samplers))

    def rush(sampler):
        barrier.wait()
        return drawn(sampler)

    with ThreadPoolExecutor(len(samplers)) as pool:
        answers = list(pool.map(rush, samplers))
    assert len(projections()) == len(before) + 1
    assert all(np.array_equal(answer.positives, answers[0].positives) for answer in answers)


def test_one_that_does_not_fit_is_refused_with_its_numbers(generation, sampler):
    small = GdsSampler(generation, max_bytes=1000)
    with pytest.raises(StoreError, match=r"bytes for 4 items and 2 edges\n.*at most 1000 bytes"):
        drawn(small)
    assert not small.is_ready()
    drawn(sampler)
    assert drawn(small).isolated.tolist() == [False, False, False, True]  # it is there already


def test_it_goes_with_its_generation(connect, generation, sampler, projections):
    before = projections()
    drawn(sampler)
    connect().delete(generation.collection, generation.id)
    assert sorted(projections()) == sorted(before)
    for late in (sampler, GdsSampler(generation)):
        with pytest.raises(Deleted):
            drawn(late)
    assert sorted(projections()) == sorted(before)


def test_none_is_left_when_it_is_made_during_the_deletion(connect, publish, projections):
    before = projections()
    for _ in range(5):
        generation = publish(f"path-{next(_numbers)}", 4, PATH)
        sampler, store = GdsSampler(generation), connect()
        with ThreadPoolExecutor(2) as pool:
            made = pool.submit(sampler.prepare)
            pool.submit(store.delete, generation.collection, generation.id).result()
            assert isinstance(made.exception(), Deleted | None)
        assert sorted(projections()) == sorted(before)


def test_walks_that_are_missing_are_noticed(ask, generation, sampler):
    drawn(sampler)
    sampler.drop()
    ask(
        "MATCH (g:GraphkinGeneration {generation: $id}) "
        "MATCH (:GraphkinGraph {graph: g.graph, id: 0})-[r:SIMILAR]-() DELETE r",
        id=generation.id,
    )
    for policy in (WALK, Policy.from_name("first_order")):
        with pytest.raises(StoreBusy, match="too few walks"):
            sampler.positives(np.arange(4, dtype=np.int32), policy, 0, 0)


@pytest.mark.long
def test_a_server_that_was_killed_projects_again_once_it_has_gds(connect, gds_server, toys, generation):
    sampler, other, anchors = GdsSampler(toys), GdsSampler(generation), np.arange(toys.size, dtype=np.int32)
    drawn(other)
    at_work = threading.Event()

    def build():
        for epoch in count():
            sampler.positives(anchors, WALK, 0, epoch)
            at_work.set()

    with ThreadPoolExecutor(1) as pool:
        builder = pool.submit(build)
        assert at_work.wait(60)
        gds_server.kill()
        error = builder.exception()
    assert isinstance(error, StoreBusy)
    assert error.retry_after is not None
    assert error.retry_after > 0
    with gds_server.without_gds():
        for request in (sampler.is_ready, lambda: drawn(sampler)):
            with pytest.raises(StoreError, match=r"no Graph Data Science\n(.*\n)*.*hint: install") as lacking:
                request()
            assert not isinstance(lacking.value, StoreBusy)
        assert other.negatives(0, 0, 0, 1, 3).shape == (1, 3)
        connect().delete(generation.collection, generation.id)
    assert not sampler.is_ready()
    sets = sampler.positives(anchors, WALK, 0, 0)
    assert sampler.is_ready()
    assert np.array_equal(sets.isolated, anchors % 6 == 5)
    assert (sets.positives[~sets.isolated] >= 0).all()
