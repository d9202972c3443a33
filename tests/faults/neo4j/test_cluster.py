"""Bookmarks and routing for a cluster, checked in the messages that one server gets."""

from contextlib import closing

import numpy as np
import pytest

from graphkin.protocol.policy import Policy
from graphkin.store import open_store
from graphkin.store.neo4j.connection import Connection
from graphkin.store.neo4j.gds import GdsSampler
from graphkin.store.neo4j.projection import ProjectableGeneration

READ_MODE, ONE_BOOKMARK = b"\x84mode\x81r", b"\x89bookmarks\x91"  # parts of the Bolt message BEGIN


@pytest.fixture
def count_messages(proxy):
    """Return a function that counts the messages with a pattern from now on: `counter.seen`."""
    return lambda pattern: proxy.strike(lambda _: False, pattern=pattern)


def test_read_waits_for_the_last_write_of_this_process(proxy, count_messages):
    """The two drivers of a connection, for short and long patience, share their bookmarks."""
    with_bookmark = count_messages(ONE_BOOKMARK)
    with closing(Connection(proxy.url)) as connection:
        connection.run("RETURN 1", "long")
        assert with_bookmark.seen == 0
        connection.read("RETURN 1")
        assert with_bookmark.seen == 1


def test_sampling_by_gds_runs_where_the_projection_is(proxy, chain, count_messages):
    """A projection is in the memory of the member that accepts writes, so no statement about it may be a read."""
    with open_store(proxy.url, create=True) as store:
        chain(10).publish(store, "c")
        generation = store.open("c")
        assert isinstance(generation, ProjectableGeneration)
        sampler = GdsSampler(generation)
        anchors, policy = np.arange(5, dtype=np.int32), Policy.from_name("random_walk")
        sampler.positives(anchors, policy, 0, 0)  # also reads which node is which item
        reads = count_messages(READ_MODE)
        sampler.positives(anchors, policy, 0, 1)
        assert sampler.is_ready()
        sampler.drop()
        assert reads.seen == 0
        store.collections()
        assert reads.seen == 1
