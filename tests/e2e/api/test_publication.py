"""Publications and deletions while a server runs, over both kinds of store."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graphkin.store import open_store

Publish = Callable[[str, str, list[str]], str]

URL = "/v1/collections/nci"


@pytest.fixture(params=["embedded", "neo4j"])
def place(request: pytest.FixtureRequest) -> str:
    """Return a store that a test may change."""
    if request.param == "embedded":
        return str(request.getfixturevalue("own_folder"))
    load_neo4j: Callable[[], str] = request.getfixturevalue("load_neo4j")
    return load_neo4j()


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=pytest.mark.long)])
def empty_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return an empty store."""
    if request.param == "embedded":
        place = str(tmp_path / "empty")
    else:
        server = request.getfixturevalue("spare_neo4j")
        server.clear()
        place = server.url
    open_store(place, create=True).close()
    return place


def test_running_server_shows_changes_within_a_second(place: str, serve: Callable, publish: Publish) -> None:
    def seconds_until(change: Callable[[], object], expected: Callable[[], bool]) -> float:
        change()
        begin = time.monotonic()
        while not expected():
            assert time.monotonic() - begin < 5
        return time.monotonic() - begin

    with serve(place) as client:
        url = "/v1/collections/nci"

        def current() -> str:
            return client.get(f"{url}/items/0/neighbors").json()["generation"]

        old = current()  # a server in use has asked the store before
        assert client.get("/v1/collections/fresh").status_code == 404
        assert seconds_until(lambda: publish(place, "nci", ["CCO", "CCCO"]), lambda: current() != old) < 1
        new = current()
        assert client.get(url).json()["generations"] == [old, new]
        assert client.get(f"{url}/items/0", params={"generation": old}).json()["generation"] == old
        assert client.get(f"{url}/items/0", params={"generation": new}).json()["smiles"] == "CCO"

        publish(place, "fresh", ["CCN"])
        assert client.get("/v1/collections/fresh/items/0").json()["smiles"] == "CCN"

        def delete(collection: str, generation: str) -> None:
            with open_store(place) as store:
                store.delete(collection, generation)

        def status() -> int:
            return client.get(f"{url}/items/0", params={"generation": old}).status_code

        def generations() -> list[str]:
            return client.get(url).json()["generations"]

        assert seconds_until(lambda: delete("nci", old), lambda: generations() == [new]) < 1
        assert status() == 410
        assert seconds_until(lambda: delete("nci", new), lambda: client.get(f"{url}/items/0").status_code == 404) < 1
        assert status() == 410
        names = [each["name"] for each in client.get("/v1/collections").json()["collections"]]
        assert names == ["fresh", "graphs", "hard", "karate", "keyed", "social"]


def test_concurrent_reads_of_more_generations_than_stay_open(
    empty_place: str, serve: Callable, publish: Publish
) -> None:
    generations = [publish(empty_place, "grown", ["C" * (n + 1), "O"]) for n in range(12)]
    with serve(empty_place) as client, ThreadPoolExecutor(6) as threads:

        def smiles(n: int) -> tuple[str, str]:
            query = {"generation": generations[n]}
            item = client.get("/v1/collections/grown/items/0", params=query).json()["smiles"]
            export = client.get("/v1/collections/grown/export", params={**query, "what": "items", "format": "csv"})
            return item, export.text.splitlines()[1].split(",")[1]

        order = [*range(12)] * 5
        assert list(threads.map(smiles, order)) == [("C" * (n + 1),) * 2 for n in order]


def test_cursors_stay_with_their_generation(place: str, serve: Callable, publish: Callable) -> None:
    with serve(place) as client:
        first = client.get(f"{URL}/items", params={"limit": 1}).json()
        publish(place, "nci", ["CCO", "CCCO"])
        second = client.get(f"{URL}/items", params={"limit": 1, "cursor": first["next_cursor"]}).json()
        assert second["generation"] == first["generation"]
        assert second["items"][0]["id"] == 1
        with open_store(place) as store:
            store.delete("nci", first["generation"])
            new = store.collection("nci").current
    with serve(place) as client:
        reply = client.get(f"{URL}/items", params={"limit": 1, "cursor": first["next_cursor"]})
        assert reply.status_code == 410
        reply = client.get(f"{URL}/items", params={"limit": 1, "cursor": first["next_cursor"], "generation": new})
        assert reply.status_code == 400


def test_publication_changes_the_etags_of_its_collection(place: str, serve: Callable, publish: Callable) -> None:
    with serve(place) as client:
        reads = ["/v1/collections", URL, f"{URL}/items/0"]
        before = [client.get(read).headers["ETag"] for read in reads]
        other = client.get("/v1/collections/keyed").headers["ETag"]
        publish(place, "nci", ["CCO", "CCCO"])
    with serve(place) as client:
        for read, tag in zip(reads, before, strict=True):
            assert client.get(read, headers={"If-None-Match": tag}).status_code == 200
        assert client.get("/v1/collections/keyed", headers={"If-None-Match": other}).status_code == 304
