"""The client against what the API says to a plain HTTP client."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from graphkin.client.client import Collection, Graphkin
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound

DRAWS: list[dict[str, Any]] = [
    {"policy": "first_order", "seed": 7},
    {"policy": "random_walk", "k": 9, "length": 4, "walks": 9, "rank": "top", "p": 0.5, "q": 2, "p_end": 0.2},
    {"policy": "second_order", "k": 7, "seed": 2**53 - 1},
]


@pytest.fixture(scope="module")
def server(url: str) -> Iterator[Graphkin]:
    with Graphkin(url) as server:
        yield server


@pytest.fixture(scope="module")
def nci(server: Graphkin) -> Collection:
    return server.collection("nci")


@pytest.fixture(scope="module")
def plain(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{url}/v1/collections/nci/") as client:
        yield client


def rows_of(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


def test_collections_are_listed_and_opened(server: Graphkin, url: str) -> None:
    listed = httpx.get(f"{url}/v1/collections").json()["collections"]
    assert server.collections() == listed
    for each in listed:
        collection = server.collection(each["name"])
        assert (collection.kind, collection.generation, collection.size) == (
            each["kind"],
            each["generation"],
            each["items"],
        )
        assert each["name"] in repr(collection)


def test_items_come_by_id_and_by_what_they_are(nci: Collection, plain: httpx.Client) -> None:
    everything = [*nci.items()]
    assert [item["id"] for item in everything] == [*range(nci.size)]
    for item in everything[::37]:
        reply = plain.get(f"items/{item['id']}").json()
        del reply["generation"]
        assert item == reply == nci.item(item["id"])
        assert item["id"] in [found["id"] for found in nci.items(smiles=item["smiles"])]
        assert item["id"] in [found["id"] for found in nci.items(name=item["names"][0])]
    assert [*nci.items(name="nobody")] == []


def test_all_items_of_many_pages(server: Graphkin) -> None:
    ids = [item["id"] for item, _ in zip(server.collection("many").items(), range(2500), strict=False)]
    assert ids == [*range(2500)]


def test_neighbors_of_every_page_or_as_many_as_wanted(nci: Collection, plain: httpx.Client) -> None:
    degrees = {item["id"]: item["degree"] for item in nci.items()}
    busiest = max(degrees, key=degrees.__getitem__)
    reply = plain.get(f"items/{busiest}/neighbors", params={"limit": 1000}).json()["neighbors"]
    assert nci.neighbors(busiest) == reply
    assert nci.neighbors(busiest, limit=2) == reply[:2]
    near = [each for each in reply if each["similarity"] >= 0.6]
    assert nci.neighbors(busiest, min_similarity=0.6) == near


def test_search_by_each_notation(nci: Collection, plain: httpx.Client) -> None:
    reply = plain.post("search", json={"smiles": "CCOC(C)=O", "limit": 3}).json()
    del reply["generation"]
    assert nci.search(smiles="CCOC(C)=O", limit=3) == reply
    assert nci.search(inchi="InChI=1S/C4H8O2/c1-3-6-4(2)5/h3H2,1-2H3", limit=3) == reply
    assert nci.search(smiles="CCOC(C)=O", min_similarity=0.3)["total"] == len(
        plain.post("search", json={"smiles": "CCOC(C)=O", "min_similarity": 0.3, "limit": 1000}).json()["hits"]
    )


@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: draw["policy"])
def test_an_epoch_is_what_json_lines_say(nci: Collection, plain: httpx.Client, draw: dict[str, Any]) -> None:
    table = nci.epoch(3, **draw)
    *rows, end = rows_of(plain.get("positives/epochs/3", params=draw))
    assert end == {"complete": True, "rows": nci.size}
    assert table.to_pylist() == rows
    assert table.schema.metadata[b"generation"].decode() == nci.generation
    assert nci.epoch(3, **draw, start=10, stop=17).to_pylist() == rows[10:17]
    assert nci.epoch(3, **draw, start=nci.size).to_pylist() == []
    for row in rows[::61]:
        explained = nci.positives(row["anchor"], epoch=3, **draw)
        assert [each["item"]["id"] for each in explained] == row["positives"][: row["count"]]


def test_negatives_are_what_json_lines_say(nci: Collection, plain: httpx.Client) -> None:
    query = {"seed": 5, "epoch": 2, "first": 7, "batches": 40, "count": 33}
    table = nci.negatives(**query)
    assert table.to_pylist() == rows_of(plain.get("negatives", params=query))


def test_more_negatives_than_a_reply_may_hold(server: Graphkin) -> None:
    many = server.collection("many")
    table = many.negatives(0, batches=70_000, count=2)
    assert table["batch"].to_pylist() == [*range(70_000)]
    assert table.slice(69_999).to_pylist() == many.negatives(0, first=69_999, count=2).to_pylist()


def test_edges_of_at_least_some_similarity(nci: Collection, plain: httpx.Client) -> None:
    lines = plain.get("export", params={"what": "edges", "format": "csv"}).text.splitlines()[1:]
    rows = [(int(a), int(b), np.float32(s)) for a, b, s in (line.split(",") for line in lines)]
    for threshold in (0.0, 0.7, 1.0):
        columns = nci.edges(min_similarity=threshold).to_pydict()
        found = [*zip(columns["source"], columns["target"], map(np.float32, columns["similarity"]), strict=True)]
        assert found == [row for row in rows if row[2] >= np.float32(threshold)]


def test_a_column_comes_in_blocks_by_id(nci: Collection) -> None:
    assert [text for block in nci.column("smiles") for text in block] == [item["smiles"] for item in nci.items()]


def test_what_the_server_refuses_is_raised_in_its_words(server: Graphkin, nci: Collection) -> None:
    with pytest.raises(NotFound, match="no item") as missing:
        nci.item(10**6)
    assert (missing.value.given, missing.value.exit_code) == (10**6, 3)
    with pytest.raises(NotFound, match="no collection 'nobody'") as nobody:
        server.collection("nobody")
    assert "nci" in str(nobody.value.expected)
    with pytest.raises(InvalidInput, match="min_similarity") as low:
        nci.neighbors(0, min_similarity=0.1)
    assert low.value.given == 0.1
    assert low.value.expected == "0.4 to 1"
    assert str(low.value).count("\n") == 3
    with pytest.raises(InvalidInput, match="unknown parameter"):
        nci.epoch(0, "first_order", kk=3)
    with pytest.raises(InvalidInput, match="count"):
        nci.negatives(0, count=10**6)
    with pytest.raises(Conflict):
        [*nci.items(inchikey="LFQSCWFLJHTTHZ-UHFFFAOYSA-N")]
    with pytest.raises(Conflict, match=r"(?s)no colour.*one of id, smiles"):
        [*nci.column("colour")]


def test_a_range_outside_the_anchors_is_refused(nci: Collection) -> None:
    for bounds in ({"start": 10**6}, {"stop": 10**6}, {"start": 5, "stop": 4}):
        with pytest.raises(InvalidInput):
            nci.epoch(0, "first_order", **bounds)
