"""GET and POST matched-pairs, and GET items/{id}/matched-pairs equal the pairs of the library, and their own pages."""

import json
from functools import partial
from typing import Any

import httpx
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from tests.until import until_available

URL = "/v1/collections/nci"
PROPERTY = "molwt"


def fetch(client: httpx.Client, path: str, **query: Any) -> dict[str, Any]:
    """Return the reply once the pairs are found."""
    reply = until_available(lambda: client.get(f"{URL}/{path}", params={"property": PROPERTY, "min_count": 1, **query}))
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


@pytest.fixture(scope="module")
def transformations(client: httpx.Client) -> list[dict[str, Any]]:
    """Return all transformations, from pages of 50."""
    page = fetch(client, "matched-pairs", limit=50, pairs=1000)
    rows = page["transformations"]
    while page["next_cursor"]:
        page = fetch(client, "matched-pairs", limit=50, pairs=1000, cursor=page["next_cursor"])
        rows += page["transformations"]
    assert len(rows) == page["total"] > 50
    return rows


def test_transformations_change_the_weight_by_that_of_their_parts(transformations: list[dict[str, Any]]) -> None:
    for each in transformations:
        weights = [Descriptors.MolWt(Chem.MolFromSmiles(each[end])) for end in ("from", "to")]
        assert each["mean"] == pytest.approx(weights[1] - weights[0], abs=0.01)
        assert each["sd"] == (None if each["count"] == 1 else pytest.approx(0, abs=0.01))
        assert each["count"] == len(each["pairs"])
    assert [each["count"] for each in transformations] == sorted((e["count"] for e in transformations), reverse=True)


def test_rare_transformations_are_left_out(client: httpx.Client, transformations: list[dict[str, Any]]) -> None:
    expected = [each for each in transformations if each["count"] >= 3]
    assert fetch(client, "matched-pairs", min_count=3, pairs=1000)["transformations"] == expected


def test_pairs_are_limited_and_counted(client: httpx.Client, transformations: list[dict[str, Any]]) -> None:
    first = fetch(client, "matched-pairs", limit=1, pairs=2)["transformations"][0]
    assert first == {**transformations[0], "pairs": transformations[0]["pairs"][:2]}
    ends = {end: first[end] for end in ("from", "to")}
    (only,) = fetch(client, "matched-pairs", pairs=1000, **ends)["transformations"]
    assert only == transformations[0]


def test_order_by_mean_lists_the_largest_change_first(client: httpx.Client) -> None:
    means = [each["mean"] for each in fetch(client, "matched-pairs", by="mean", limit=1000)["transformations"]]
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize(
    "query",
    [
        {"name": "1"},
        {"substructure": "c1ccccc1"},
        {"scaffold": "c1ccccc1"},
        {"ids": [*range(0, 400, 3)]},
        {"filters": [{"property": "molwt", "max": 160}], "name": "2"},
    ],
)
def test_both_items_match_the_query_of_a_body(
    client: httpx.Client, transformations: list[dict[str, Any]], query: dict[str, Any]
) -> None:
    """Pairs of a query are the pairs of all items whose two items the same query of items returns."""
    reply = until_available(lambda: client.post(f"{URL}/values", json={"columns": [], **query}))
    selection = {json.loads(line)["id"] for line in reply.text.splitlines()}
    expected = {}
    for each in transformations:
        pairs = sorted(pair for pair in each["pairs"] if selection.issuperset(pair))
        if pairs:
            expected[frozenset((each["from"], each["to"]))] = sorted(map(sorted, pairs))
    body = {"property": PROPERTY, "min_count": 1, "pairs": 1000, "limit": 1000, **query}
    rows, page = list[dict[str, Any]](), {"next_cursor": None}
    while not rows or page["next_cursor"]:
        request = {**body, "cursor": page["next_cursor"]}
        reply = until_available(partial(client.post, f"{URL}/matched-pairs", json=request))
        assert reply.status_code == 200, reply.text
        page = reply.json()
        rows += page["transformations"]
    assert page["total"] == len(rows) == len(expected) > 3
    assert {frozenset((each["from"], each["to"])): sorted(map(sorted, each["pairs"])) for each in rows} == expected
    assert all(each["count"] == len(each["pairs"]) for each in rows)


def test_uncut_molecules_are_counted_by_reason(client: httpx.Client) -> None:
    uncut = {each["reason"]: each for each in fetch(client, "matched-pairs")["uncut"]}
    several = uncut["more than one component"]
    items = [client.get(f"{URL}/items/{id}").json()["smiles"] for id in several["ids"][:5]]
    assert all("." in smiles for smiles in items)
    assert several["count"] >= len(several["ids"]) > 0


@pytest.mark.parametrize("change", ["raise", "lower"])
def test_item_becomes_the_other_item_of_its_pairs(
    client: httpx.Client, transformations: list[dict[str, Any]], change: str
) -> None:
    first, second = next(each for each in transformations if each["mean"] > 1)["pairs"][0]
    item, other = (first, second) if change == "raise" else (second, first)
    page = fetch(client, f"items/{item}/matched-pairs", change=change, limit=1000)
    assert page["total"] == len(page["transformations"])
    assert page["reason"] is None
    assert page["value"] == pytest.approx(client.get(f"{URL}/items/{item}").json()["properties"][PROPERTY])
    products = {product["id"]: product["smiles"] for each in page["transformations"] for product in each["products"]}
    assert products[other] == client.get(f"{URL}/items/{other}").json()["smiles"]
    means = [each["mean"] for each in page["transformations"]]
    assert means == sorted(means, reverse=change == "raise")


def test_item_that_is_not_cut_has_a_reason_and_no_transformations(client: httpx.Client) -> None:
    uncut = fetch(client, "matched-pairs")["uncut"][0]
    page = fetch(client, f"items/{uncut['ids'][0]}/matched-pairs")
    assert (page["reason"], page["transformations"], page["total"]) == (uncut["reason"], [], 0)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"property": "pIC50"}, 422),
        ({"min_count": 0}, 422),
        ({"pairs": 1001}, 422),
        ({"by": "sd"}, 422),
        ({"from": "[*:1]F"}, 422),
        ({"change": "raise"}, 422),
    ],
)
def test_invalid_query(client: httpx.Client, query: dict[str, Any], status: int) -> None:
    reply = until_available(lambda: client.get(f"{URL}/matched-pairs", params={"property": PROPERTY, **query}))
    assert reply.status_code == status
    assert reply.json()["hint"]


def test_unknown_item(client: httpx.Client) -> None:
    reply = client.get(f"{URL}/items/99999999/matched-pairs", params={"property": PROPERTY})
    assert reply.status_code == 404
