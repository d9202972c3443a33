import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from graphkin.store import open_store

Publish = Callable[[Path, str, list[str]], str]


def test_the_list_names_every_collection_with_its_counts(client: httpx.Client) -> None:
    listed = client.get("/v1/collections").json()["collections"]
    assert [(each["name"], each["kind"]) for each in listed] == [
        ("graphs", "graph"),
        ("hard", "molecule"),
        ("keyed", "molecule"),
        ("nci", "molecule"),
        ("social", "graph"),
    ]
    detail = client.get("/v1/collections/nci").json()
    assert listed[3]["generation"] == detail["generation"] == detail["manifest"]["generation"]
    assert listed[3]["items"] == detail["manifest"]["counts"]["kept"]
    assert listed[3]["edges"] == detail["manifest"]["edges"]


def test_a_collection_tells_how_it_was_made(client: httpx.Client) -> None:
    detail = client.get("/v1/collections/nci").json()
    assert detail["name"] == "nci"
    assert detail["generations"] == [detail["generation"]]
    assert detail["manifest"]["recipe"]["fingerprint"]["name"] == "morgan"
    for of in ("degree", "similarity"):
        histogram = detail["histograms"][of]
        assert len(histogram["edges"]) == len(histogram["counts"]) + 1
    assert sum(detail["histograms"]["similarity"]["counts"]) == detail["manifest"]["edges"]


def test_what_was_rejected_is_listed_with_where_it_stood_and_why(
    own_location: str, serve: Callable, publish: Publish
) -> None:
    lines = [f"{'C' * length}O" for length in range(1, 50)]
    broken = {7: "C1CC", 20: "not-a-molecule", 43: "c1ccc"}
    for line, text in broken.items():
        lines.insert(line - 1, text)
    publish(own_location, "chains", lines)
    url, found, cursor = "/v1/collections/chains/rejections", [], None
    with serve(own_location) as client:
        while found == [] or cursor is not None:
            page = client.get(url, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
            found += page["rejections"]
            cursor = page["next_cursor"]
        assert client.get("/v1/collections/nci/rejections", params={"limit": 1001}).status_code == 422
    assert [(each["line"], each["input"]) for each in found] == list(broken.items())
    assert all(each["source"].endswith("chains.smi") for each in found)
    assert all(each["reason"] for each in found)


def test_what_is_published_or_deleted_while_serving_is_seen_within_a_second(
    own_location: str, serve: Callable, publish: Publish
) -> None:
    def seen_after(change: Callable[[], object], expected: Callable[[], bool]) -> float:
        change()
        begin = time.monotonic()
        while not expected():
            assert time.monotonic() - begin < 5
        return time.monotonic() - begin

    with serve(own_location) as client:
        url = "/v1/collections/nci"
        old = client.get(f"{url}/items/0").json()["generation"]
        assert client.get("/v1/collections/fresh").status_code == 404

        def current() -> str:
            return client.get(f"{url}/items/0/neighbors").json()["generation"]

        assert seen_after(lambda: publish(own_location, "nci", ["CCO", "CCCO"]), lambda: current() != old) < 1
        new = current()
        assert client.get(url).json()["generations"] == [old, new]
        assert client.get(f"{url}/items/0", params={"generation": old}).json()["generation"] == old
        assert client.get(f"{url}/items/0", params={"generation": new}).json()["smiles"] == "CCO"

        publish(own_location, "fresh", ["CCN"])
        assert client.get("/v1/collections/fresh/items/0").json()["smiles"] == "CCN"

        def delete(collection: str, generation: str) -> None:
            with open_store(own_location) as store:
                store.delete(collection, generation)

        def status() -> int:
            return client.get(f"{url}/items/0", params={"generation": old}).status_code

        def generations() -> list[str]:
            return client.get(url).json()["generations"]

        assert seen_after(lambda: delete("nci", old), lambda: generations() == [new]) < 1
        assert status() == 410
        assert seen_after(lambda: delete("nci", new), lambda: client.get(f"{url}/items/0").status_code == 404) < 1
        assert status() == 410
        names = [each["name"] for each in client.get("/v1/collections").json()["collections"]]
        assert names == ["fresh", "graphs", "hard", "keyed", "social"]


def test_more_generations_than_stay_open_can_be_read_at_once(
    own_location: str, serve: Callable, publish: Publish
) -> None:
    generations = [publish(own_location, "grown", ["C" * (n + 1), "O"]) for n in range(12)]
    with serve(own_location) as client, ThreadPoolExecutor(6) as threads:

        def smiles(n: int) -> tuple[str, str]:
            query = {"generation": generations[n]}
            item = client.get("/v1/collections/grown/items/0", params=query).json()["smiles"]
            export = client.get("/v1/collections/grown/export", params={**query, "what": "items", "format": "csv"})
            return item, export.text.splitlines()[1].split(",")[1]

        order = [*range(12)] * 5
        assert list(threads.map(smiles, order)) == [("C" * (n + 1),) * 2 for n in order]
