"""The life cycle of a projection: creation, refusal, loss and deletion."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

from graphkin.protocol.errors import Deleted, InvalidInput, StoreBusy, StoreError
from graphkin.protocol.policy import Policy
from graphkin.store import open_store
from graphkin.store.neo4j.gds import GdsSampler
from graphkin.store.neo4j.projection import CONCURRENCY

PATH = {(0, 1): 0.5, (1, 2): 1.0}
WALK = Policy.from_name("random_walk", walks=3, length=2, rank="top", k=4)
_numbers = count()


@pytest.fixture
def generation(publish):
    """Return a path of three items and an isolated one, in a collection of its own."""
    return publish(f"path-{next(_numbers)}", 4, PATH)


@pytest.fixture
def sampler(generation):
    return GdsSampler(generation)


def sample(sampler, epoch=0):
    return sampler.positives(np.arange(4, dtype=np.int32), WALK, 0, epoch)


def test_first_request_creates_the_projection_for_all(connect, generation, sampler, projections):
    assert not sampler.is_ready()
    before = projections()
    sets = sample(sampler)
    assert sampler.is_ready()
    assert len(projections()) == len(before) + 1
    other_sampler = GdsSampler(connect().open(generation.collection))
    assert other_sampler.is_ready()
    assert np.array_equal(sample(other_sampler).positives, sets.positives)
    assert len(projections()) == len(before) + 1
    sampler.drop()
    assert not other_sampler.is_ready()
    assert sorted(projections()) == sorted(before)
    sampler.drop()
    assert np.array_equal(sample(other_sampler).isolated, sets.isolated)


def test_projection_has_every_item_and_edge(ask, toy_copies):
    sampler = GdsSampler(toy_copies)
    sampler.prepare()
    sizes = ask("CALL gds.graph.list() YIELD nodeCount, relationshipCount RETURN nodeCount, relationshipCount")
    assert {"nodeCount": toy_copies.size, "relationshipCount": 2 * toy_copies.manifest.edges} in sizes


def test_concurrent_requests_share_one_projection(connect, generation, projections):
    before = projections()
    samplers = [GdsSampler(connect().open(generation.collection)) for _ in range(2)] * 3
    barrier = threading.Barrier(len(samplers))

    def sample_at_once(sampler):
        barrier.wait()
        return sample(sampler)

    with ThreadPoolExecutor(len(samplers)) as pool:
        samples = list(pool.map(sample_at_once, samplers))
    assert len(projections()) == len(before) + 1
    assert all(np.array_equal(answer.positives, samples[0].positives) for answer in samples)


def test_projection_beyond_the_memory_limit_is_refused(generation, sampler):
    small = GdsSampler(generation, max_bytes=1000)
    with pytest.raises(StoreError, match=r"bytes for 4 items and 2 edges\n.*at most 1000 bytes"):
        sample(small)
    assert not small.is_ready()
    sample(sampler)
    assert sample(small).isolated.tolist() == [False, False, False, True]  # The projection exists already.


def test_projection_is_dropped_with_its_generation(connect, generation, sampler, projections):
    before = projections()
    sample(sampler)
    connect().delete(generation.collection, generation.id)
    assert sorted(projections()) == sorted(before)
    for stale_sampler in (sampler, GdsSampler(generation)):
        with pytest.raises(Deleted):
            sample(stale_sampler)
    assert sorted(projections()) == sorted(before)


def test_projection_created_during_a_deletion_is_dropped(connect, publish, projections):
    before = projections()
    for _ in range(5):
        generation = publish(f"path-{next(_numbers)}", 4, PATH)
        sampler, store = GdsSampler(generation), connect()
        with ThreadPoolExecutor(2) as pool:
            preparation = pool.submit(sampler.prepare)
            pool.submit(store.delete, generation.collection, generation.id).result()
            assert isinstance(preparation.exception(), Deleted | None)
        assert sorted(projections()) == sorted(before)


def test_missing_walks_raise_an_error(ask, generation, sampler):
    sample(sampler)
    sampler.drop()
    ask(
        "MATCH (g:GraphkinGeneration {generation: $id}) "
        "MATCH (:GraphkinGraph {graph: g.graph, id: 0})-[r:SIMILAR]-() DELETE r",
        id=generation.id,
    )
    for policy in (WALK, Policy.from_name("first_order")):
        with pytest.raises(StoreBusy, match="fewer walks"):
            sampler.positives(np.arange(4, dtype=np.int32), policy, 0, 0)


def test_superseded_projection_is_dropped_by_the_next_publication(publish, generation, sampler, projections):
    before = projections()
    sample(sampler)
    newer = publish(generation.collection, 5, PATH)
    assert sorted(projections()) == sorted(before)
    sample(GdsSampler(newer))
    sample(sampler)  # an older generation can still be sampled
    assert len(projections()) == len(before) + 2


def test_new_projection_drops_those_that_another_process_superseded(connect, publish, generation, sampler, projections):
    """The other user publishes, and may not drop this user's projection, so the projection of the newer one does."""
    before = projections()
    newer = publish(generation.collection, 5, PATH)
    sample(sampler)
    assert len(projections()) == len(before) + 1
    sample(GdsSampler(newer))
    (name,) = set(projections()) - set(before)
    assert [each.generation for each in connect().projections() if each.name == name] == [newer.id]


def test_projections_are_listed_and_dropped(connect, graphkin, gds_server, generation, sampler, toy_copies):
    sample(sampler)
    GdsSampler(toy_copies).prepare()
    place = ["--store", gds_server.url]
    (row,) = [
        each
        for each in json.loads(graphkin("projections", "list", *place, "--json").out)
        if each["collection"] == generation.collection
    ]
    assert (row["generation"], row["is_current"], row["items"], row["edges"]) == (generation.id, True, 4, 2)
    assert row["bytes"] > 0
    table = graphkin("projections", "list", *place).out
    assert f"{generation.collection}\t{generation.id[:12]}\tcurrent\t4\t2\t" in table
    others = [each for each in connect().projections() if each.collection != generation.collection]
    assert others
    dropped = graphkin("projections", "drop", *place, "--collection", generation.collection)
    assert dropped.out.startswith(f"dropped {generation.collection} {generation.id[:12]}, ")
    assert connect().projections() == others
    assert not sampler.is_ready()
    assert sample(sampler).isolated.tolist() == [False, False, False, True]


def test_projections_of_a_folder_are_an_error(graphkin, tmp_path):
    open_store(tmp_path / "store", create=True).close()
    outcome = graphkin("projections", "list", "--store", str(tmp_path / "store"))
    assert outcome.code == 2
    assert "only a Neo4j store has projections" in outcome.err


@pytest.mark.parametrize("number", ["1", "4"])
def test_concurrency_is_a_setting(monkeypatch, sampler, number):
    monkeypatch.setenv(CONCURRENCY, number)
    assert sample(sampler).isolated.tolist() == [False, False, False, True]


@pytest.mark.parametrize("number", ["0", "many", "1.5"])
def test_invalid_concurrency_is_refused(monkeypatch, sampler, number):
    monkeypatch.setenv(CONCURRENCY, number)
    with pytest.raises(InvalidInput, match=CONCURRENCY):
        sample(sampler)


@pytest.mark.long
def test_restarted_server_creates_the_projection_again(connect, gds_server, toy_copies, generation):
    sampler, other, anchors = GdsSampler(toy_copies), GdsSampler(generation), np.arange(toy_copies.size, dtype=np.int32)
    sample(other)
    has_started = threading.Event()

    def build():
        for epoch in count():
            sampler.positives(anchors, WALK, 0, epoch)
            has_started.set()

    with ThreadPoolExecutor(1) as pool:
        builder = pool.submit(build)
        assert has_started.wait(60)
        gds_server.kill()
        error = builder.exception()
    assert isinstance(error, StoreBusy)
    assert error.retry_after is not None
    assert error.retry_after > 0
    with gds_server.without_gds():
        for request in (sampler.is_ready, lambda: sample(sampler)):
            with pytest.raises(StoreError, match=r"no Graph Data Science\n(.*\n)*.*hint: install") as lacking:
                request()
            assert not isinstance(lacking.value, StoreBusy)
        for engine in ("snapshot", "cypher"):
            assert sample(connect().open(generation.collection).sampler(engine)).isolated.tolist()[-1]
        assert other.negatives(0, 0, 0, 1, 3).shape == (1, 3)
        connect().delete(generation.collection, generation.id)
    assert not sampler.is_ready()
    sets = sampler.positives(anchors, WALK, 0, 0)
    assert sampler.is_ready()
    assert np.array_equal(sets.isolated, anchors % 6 == 5)
    assert (sets.positives[~sets.isolated] >= 0).all()
