"""API clients while Neo4j is unreachable or killed, and Neo4j while API clients disconnect."""

import gc
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import httpx
import neo4j
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.protocol.errors import StoreError
from graphkin.store import open_store
from graphkin.store.neo4j import connection

SIZE = 9000  # Items: three pages.
URL = "/v1/collections/large"
REQUESTS = {  # Path -> body.
    "/v1/collections": None,
    URL: None,
    f"{URL}/items/7": None,
    f"{URL}/items?name=item": None,
    f"{URL}/items/7/neighbors": None,
    f"{URL}/items/7/subgraph?hops=2": None,
    f"{URL}/paths?from=0&to=9": None,
    f"{URL}/items/7/positives?policy=first_order": None,
    f"{URL}/positives/batch": {"ids": [4, 3, 4], "policy": "random_walk"},
    f"{URL}/negatives?count=5": None,
    f"{URL}/export?what=items&format=csv": None,
    f"{URL}/export?what=edges&format=arrow": None,
    f"{URL}/export": {"ids": [1, 2, 4], "what": "edges", "format": "graphml"},
}
PAGE_3 = b"\x85start\xc9\x20\x00"  # The parameter `start` with value 8192.
POOLED = 15  # Connections to Neo4j that the API may keep, a few for each concurrent request.
POOLS = ("AnyIO", "uvloop_", "sampler_")  # Name prefixes of the threads of these pools.
ROUNDS = 8  # Rounds of three streams each. If two of the streams leaked something each time, it would exceed POOLED.
DEADLINE = 60  # Seconds until something that should end counts as leaked.


@pytest.fixture(scope="module")
def large(server, chain):
    server.clear()
    with open_store(server.url) as store:
        return chain(SIZE).publish(store, "large")


@pytest.fixture
def client(large, serve, proxy, monkeypatch):
    """Yield a client of an API that retries for one second instead of three."""
    monkeypatch.setitem(connection._PATIENCE, "short", 1.0)
    with serve(proxy.url) as client:
        yield client


def ask(client, path):
    body = REQUESTS.get(path)
    return client.get(path) if body is None else client.post(path, json=body)


def ask_all(client):
    with ThreadPoolExecutor(len(REQUESTS)) as pool:
        return dict(zip(REQUESTS, pool.map(lambda path: ask(client, path), REQUESTS), strict=True))


def assert_unavailable(reply, detail):
    assert (reply.status_code, reply.headers["content-type"]) == (503, "application/problem+json"), reply.text
    assert int(reply.headers["Retry-After"]) > 0
    assert reply.json()["status"] == 503
    assert detail in reply.json()["detail"]


def test_requests_return_503_while_server_is_unreachable(client, proxy):
    """Requests fail in about the time of one, and succeed as before once the server is back."""
    before = ask_all(client)
    assert [reply.json() for reply in before.values() if reply.status_code != 200] == []
    proxy.vanish()
    begin = time.monotonic()
    assert_unavailable(client.get("/readyz"), "does not answer")
    duration = time.monotonic() - begin
    begin = time.monotonic()
    for reply in ask_all(client).values():
        assert_unavailable(reply, "does not answer")
    assert time.monotonic() - begin < 10 * duration
    assert client.get("/livez").status_code == 200
    proxy.come_back()
    after = ask_all(client)
    assert {path: reply.content for path, reply in after.items()} == {
        path: reply.content for path, reply in before.items()
    }
    assert client.get("/readyz").status_code == 200


def test_requests_survive_a_single_cut_connection(large, server, serve, proxy):
    """Clients do not notice, because the request to Neo4j is repeated."""
    paths = [path for path in REQUESTS if "items" in path or "export" in path]
    with serve(server.url) as undisturbed, serve(proxy.url) as client:
        for path, lost in zip(paths, cycle(("request", "reply"))):
            strike = proxy.strike(lambda number: number == 1, pattern=b"MATCH", lost=lost)
            assert ask(client, path).content == ask(undisturbed, path).content
            assert strike.seen > 1
            proxy.strikes.remove(strike)


STREAMS = [
    f"{URL}/export?what=items&format=csv",
    f"{URL}/export?what=items&format=arrow",
    f"{URL}/export?what=edges&format=graphml",
]


def read_whole(client, path):
    """Return the bytes of a reply, and the error that cut it off or None."""
    received = bytearray()
    with client.stream("GET", path, headers={"Accept-Encoding": "identity"}) as reply:
        assert reply.status_code == 200
        try:
            for piece in reply.iter_raw():
                received += piece
        except httpx.RemoteProtocolError as error:
            return bytes(received), error
    return bytes(received), None


@pytest.mark.parametrize("path", [STREAMS[0], *(pytest.param(path, marks=pytest.mark.long) for path in STREAMS[1:])])
def test_interrupted_stream_is_recognizably_incomplete(client, proxy, path):
    """The client sees that content is missing."""
    whole = ask(client, path).content
    proxy.strike(lambda _: True, pattern=PAGE_3, then=proxy.vanish)
    content, error = read_whole(client, path)
    assert content
    assert whole.startswith(content)
    assert "incomplete" in str(error)
    proxy.strikes.clear()
    proxy.come_back()
    assert ask(client, path).content == whole


def open_files():
    gc.collect()
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def threads():
    """Return the threads of this process, without the API's pools, which add threads on demand."""
    return {thread for thread in threading.enumerate() if not thread.name.startswith(POOLS)}


def becomes_true(event):
    """Return whether the event becomes true in time."""
    end = time.monotonic() + DEADLINE
    while not (outcome := event()) and time.monotonic() < end:
        time.sleep(0.01)
    return outcome


EPOCH = f"{URL}/positives/epochs/0?policy=random_walk&k=64"


def test_disconnected_clients_leave_nothing_open(large, server, serve):
    """Clients that disconnect in mid-stream leave nothing open in the API or in Neo4j, and others are served."""
    with serve(server.url) as client:
        assert becomes_true(lambda: client.get(EPOCH).status_code == 200)
        paths = [f"{URL}/export?what=items&format=csv", f"{URL}/export?what=edges&format=csv", EPOCH]
        whole = {path: client.get(path).content for path in paths}

        def disconnect():
            for path in paths:
                with client.stream("GET", path) as reply:
                    assert next(reply.iter_raw())

        disconnect()
        before = threads()
        files, connections = open_files(), len(server.ask("CALL dbms.listConnections()"))
        for _ in range(ROUNDS):
            disconnect()
        assert {path: client.get(path).content for path in paths} == whole
        assert becomes_true(lambda: threads() <= before)
        assert becomes_true(lambda: len(server.ask("SHOW TRANSACTIONS")) == 1)  # This query lists itself.
        assert becomes_true(lambda: len(server.ask("CALL dbms.listConnections()")) <= connections + POOLED)
        assert becomes_true(lambda: open_files() <= files + POOLED)


NEIGHBORS = f"{URL}/items/7/neighbors"
EXPORT = f"{URL}/export?what=items&format=csv"
NEGATIVES = f"{URL}/negatives?count=5"
BATCH = {"ids": [0, 7, SIZE - 1], "policy": "first_order"}


def sample(client):
    return client.post(f"{URL}/positives/batch", json=BATCH)


def assert_sampled(reply):
    assert reply.status_code == 200, reply.text
    rows = [json.loads(line) for line in reply.text.splitlines()]
    assert [row["isolated"] for row in rows] == [False, False, True]
    assert {abs(id - 7) for id in rows[1]["positives"]} <= {1, 3}


def projections(server):
    return server.ask("CALL gds.graph.list() YIELD graphName RETURN graphName")


@pytest.mark.long
def test_api_recovers_after_neo4j_restart(large, server, proxy, serve, tmp_path):
    with serve(proxy.url, sampler="gds") as client:
        before = {path: client.get(path).content for path in (NEIGHBORS, EXPORT, NEGATIVES)}
        assert projections(server) == []
        assert_sampled(sample(client))  # the first request creates the projection
        assert len(projections(server)) == 1
        kill_during_requests(client, server, proxy)
        with ThreadPoolExecutor(2) as pool:
            for reply in pool.map(client.get, ("/readyz", EPOCH)):
                assert_unavailable(reply, "does not answer")
        with server.without_gds():
            for response in (client.get("/readyz"), sample(client)):
                assert_unavailable(response, "no Graph Data Science")
            assert {path: client.get(path).content for path in before} == before
            with pytest.raises(StoreError, match="no Graph Data Science"):
                Server(Settings(store=server.url, sampler="gds", port=0, cache_dir=tmp_path))
        assert_projected_by_the_first_request(client, server)
        assert {path: client.get(path).content for path in before} == before
        assert_built(client)


def kill_during_requests(client, server, proxy):
    """Kill Neo4j during an export, a request for neighbors, one for positives, and a build of positive sets."""
    all_started = threading.Barrier(4, server.kill, DEADLINE)
    for part in (PAGE_3, b"\x86offset", b"gds.randomWalk.stream"):
        proxy.strike(lambda _: True, pattern=part, lost="reply", then=all_started.wait)
    assert_unavailable(client.get(EPOCH), "building positive sets")
    with ThreadPoolExecutor(3) as pool:
        exported = pool.submit(read_whole, client, EXPORT)
        others = [pool.submit(client.get, NEIGHBORS), pool.submit(sample, client)]
    proxy.strikes.clear()
    content, error = exported.result()
    assert content
    assert "incomplete" in str(error)
    for other in others:
        assert_unavailable(other.result(), "does not answer")


@contextmanager
def generations_locked(server):
    """Lock the generations, so that projections have to wait."""
    driver = neo4j.GraphDatabase.driver(server.url, auth=(server.user, server.password))
    with driver, driver.session() as session, session.begin_transaction() as transaction:
        transaction.run("MATCH (g:GraphkinGeneration) SET g.locked = true").consume()
        yield
        transaction.rollback()


def waiting_transactions(server):
    """Return the ids of the transactions that wait to create a projection."""
    transactions = server.ask("SHOW TRANSACTIONS YIELD transactionId, currentQuery")
    return [row["transactionId"] for row in transactions if "SET g.lock = true" in (row["currentQuery"] or "")]


def assert_projected_by_the_first_request(client, server):
    assert projections(server) == []
    with ThreadPoolExecutor(1) as pool:
        with generations_locked(server):
            first = pool.submit(sample, client)
            assert becomes_true(lambda: waiting_transactions(server))
            for _ in range(3):
                assert_unavailable(client.get("/readyz"), "loaded into Neo4j Graph Data Science")
        assert_sampled(first.result())
    assert client.get("/readyz").status_code == 200
    assert len(projections(server)) == 1


def assert_built(client):
    while (reply := client.get(EPOCH)).status_code == 503:
        assert_unavailable(reply, "")
    *rows, end = reply.text.splitlines()
    assert json.loads(end) == {"complete": True, "rows": SIZE}
    assert [json.loads(row)["isolated"] for row in rows] == [False] * (SIZE - 1) + [True]


def test_next_request_retries_a_failed_projection(large, server, serve):
    with serve(server.url, sampler="gds") as client:
        assert_sampled(sample(client))
        (projected,) = projections(server)
        server.ask("CALL gds.graph.drop($graphName) YIELD graphName RETURN graphName", **projected)
        with generations_locked(server):
            assert_unavailable(client.get("/readyz"), "loaded into Neo4j Graph Data Science")
            assert becomes_true(lambda: waiting_transactions(server))
            server.ask("TERMINATE TRANSACTIONS $ids", ids=waiting_transactions(server))
            assert becomes_true(lambda: "terminated" in client.get("/readyz").json()["detail"])
            assert_unavailable(client.get("/readyz"), "loaded into Neo4j Graph Data Science")
        assert becomes_true(lambda: client.get("/readyz").status_code == 200)
        assert projections(server) == [projected]


@pytest.fixture
def two(server, chain):
    """Publish two collections instead of `large`, and return the token of the first one's generation."""
    server.clear()
    with open_store(server.url) as store:
        for name, size in (("broken", 10), ("intact", 20)):
            chain(size).publish(store, name)
    (row,) = server.ask("MATCH (g:GraphkinGeneration {collection: 'broken'}) RETURN g.graph AS graph")
    return row["graph"]


def test_server_stays_ready_if_items_of_one_collection_are_missing(two, server, serve):
    """The requests that need them fail alone."""
    with serve(server.url) as client:
        server.ask("MATCH (n {graph: $graph, id: 7}) DETACH DELETE n", graph=two)
        response = client.get("/v1/collections/broken/items/7")
        assert (response.status_code, response.json()["title"]) == (503, "Damaged")
        assert "item 7 is missing" in response.json()["detail"]
        assert client.get("/v1/collections/broken/items/8").status_code == 200
        assert client.get("/v1/collections/intact/items/7").status_code == 200
        assert client.get("/readyz").status_code == 200
        assert client.get("/livez").status_code == 200


def test_server_is_ready_with_the_projection_of_one_collection(two, server, serve):
    """A collection that cannot be projected does not keep the server from serving the other one."""
    with serve(server.url, sampler="gds") as client:
        for name in ("broken", "intact"):
            assert client.get(f"/v1/collections/{name}/items/1/positives?policy=first_order").status_code == 200
        for projected in projections(server):
            server.ask("CALL gds.graph.drop($graphName) YIELD graphName RETURN graphName", **projected)
        driver = neo4j.GraphDatabase.driver(server.url, auth=(server.user, server.password))
        with driver, driver.session() as session, session.begin_transaction() as transaction:
            transaction.run("MATCH (g:GraphkinGeneration {graph: $graph}) SET g.locked = true", graph=two).consume()
            assert becomes_true(lambda: client.get("/readyz").status_code == 200)
            assert len(projections(server)) == 1
            path = "/v1/collections/intact/items/1/positives?policy=first_order"
            assert client.get(path).status_code == 200
            transaction.rollback()
        assert becomes_true(lambda: len(projections(server)) == 2)
