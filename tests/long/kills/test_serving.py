"""Servers killed under requests: complete responses are correct, and the next server gives the same ones."""

import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import httpx
import pytest

from graphkin.store import open_store
from tests.integration.conftest import publish_molecules

KILLS, BLOCKS, CLIENTS = 5, 5, 4
MOLECULES = 1000
BASE = "/v1/collections/nci"
LONGEST = 0.5  # maximum seconds until the kill


@pytest.fixture(scope="module")
def store(nci_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with open_store(folder / "store", create=True) as opened:
        publish_molecules(opened, "nci", nci_file.read_text().splitlines()[:MOLECULES], folder)
    return folder / "store"


@pytest.fixture(scope="module")
def asks(nci_smiles):
    """Return requests of every kind: method, path, body."""
    gets = [
        "",
        *(f"/items/{id}" for id in range(0, MOLECULES - 50, 97)),
        *(f"/items/{id}/neighbors" for id in range(0, MOLECULES - 50, 97)),
        "/items/3/subgraph?hops=2",
        "/items/3/depiction.svg",
        "/items/3/positives?policy=random_walk&seed=5",
        "/paths?from=3&to=300",
        "/components?min_similarity=0.5",
        "/negatives?batches=512",
        *(f"/export?what=items&format={format}" for format in ("csv", "sdf", "parquet", "arrow")),
        *(f"/export?what=edges&format={format}" for format in ("csv", "graphml", "parquet", "arrow")),
        *(f"/positives/epochs/{epoch}?policy=first_order" for epoch in range(3)),
    ]
    searches = [{"smiles": smiles, "limit": 10} for smiles in nci_smiles[:100:9]]
    return [("GET", BASE + path, None) for path in gets] + [("POST", f"{BASE}/search", body) for body in searches]


def answer(client, ask):
    """Return the body of the response, repeating the request while the server builds positive sets."""
    method, path, body = ask
    while (reply := client.request(method, path, json=body)).status_code == 503:
        time.sleep(float(reply.headers["Retry-After"]) / 50)
    assert reply.status_code == 200, reply.text
    return reply.content


@pytest.fixture(scope="module")
def right(store, asks, serve):
    """Return the responses of an undisturbed server."""
    with serve(store) as url, httpx.Client(base_url=url, timeout=60) as client:
        return [answer(client, ask) for ask in asks]


@pytest.fixture
def served_otherwise(asks, right):
    """Return a function that sends requests in random order and returns those with wrong responses.

    It sends each request once or, if the server will be killed, until the connection breaks.
    """

    def ask(url, random, until_it_breaks):
        wrong: list[object] = []
        with httpx.Client(base_url=url, timeout=60) as client:
            try:
                while True:
                    order = random.sample(range(len(asks)), len(asks))
                    wrong.extend(asks[each] for each in order if answer(client, asks[each]) != right[each])
                    if not until_it_breaks:
                        return wrong
            except httpx.TransportError:
                assert until_it_breaks
                return wrong

    return ask


@pytest.mark.parametrize("block", range(BLOCKS))
def test_killed_server_gives_no_wrong_responses(block, store, served_otherwise, serve_apart, part, tmp_path):
    kills = part("serving")
    with ThreadPoolExecutor(CLIENTS) as threads:
        for random in kills.attempts(f"serving {block}", KILLS):
            with serve_apart(store, tmp_path) as (url, process):
                kills.diverging += served_otherwise(url, random, until_it_breaks=False)
                randoms = [Random(random.random()) for _ in range(CLIENTS)]
                asking = [threads.submit(served_otherwise, url, each, until_it_breaks=True) for each in randoms]
                time.sleep(LONGEST * random.random())
                process.kill()
                for each in asking:
                    kills.diverging += each.result()
            kills.landed["under requests"] += 1
    with serve_apart(store, tmp_path) as (url, _):
        assert served_otherwise(url, Random(block), until_it_breaks=False) == []
