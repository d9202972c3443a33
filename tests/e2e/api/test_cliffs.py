"""GET and POST cliffs equal a computation with pandas over exported tables."""

import io
import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from tests.until import until_available

URL = "/v1/collections/nci"


def export_table(client: httpx.Client, what: str) -> pd.DataFrame:
    reply = client.get(f"{URL}/export", params={"what": what, "format": "parquet"})
    return pd.read_parquet(io.BytesIO(reply.content))


@pytest.fixture(scope="module")
def items(client: httpx.Client) -> pd.DataFrame:
    return export_table(client, "items").set_index("id")


@pytest.fixture(scope="module")
def edges(client: httpx.Client) -> pd.DataFrame:
    return export_table(client, "edges").rename(columns={"source": "a", "target": "b"})


def fetch_cliffs(client: httpx.Client, property: str, **query: Any) -> dict[str, Any]:
    reply = until_available(lambda: client.get(f"{URL}/cliffs", params={"property": property, **query}))
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


def rank_pairs(edges: pd.DataFrame, values: "pd.Series[float]", by: str) -> pd.DataFrame:
    """Return every pair with different values, in the order of a ranking."""
    pairs = edges.assign(difference=(edges["a"].map(values) - edges["b"].map(values)).abs())
    pairs["sali"] = pairs["difference"] / (1 - pairs["similarity"].astype(float))
    return pairs[pairs["difference"] > 0].sort_values(
        [by, "difference", "a", "b"], ascending=[False, False, True, True]
    )


@pytest.mark.parametrize("by", ["sali", "difference"])
def test_pages_equal_pandas(client: httpx.Client, items: pd.DataFrame, edges: pd.DataFrame, by: str) -> None:
    """Few ring counts exist, so most pairs tie and are ordered by their ids."""
    expected = rank_pairs(edges, items["rings"], by)
    pages: list[dict[str, Any]] = []
    while not pages or pages[-1]["next_cursor"]:
        cursor = {"cursor": pages[-1]["next_cursor"]} if pages else {}
        query = {"min_similarity": 0.4, "exclude_identical": False, "by": by, "limit": 60}
        pages.append(fetch_cliffs(client, "rings", **query, **cursor))
    pairs = [pair for page in pages for pair in page["pairs"]]
    assert len(pages) > 2
    assert {page["total"] for page in pages} == {len(expected)}
    assert {page["identical"] for page in pages} == {(expected["similarity"] == 1).sum()}
    assert [(pair["a"], pair["b"]) for pair in pairs] == [*zip(expected["a"], expected["b"], strict=True)]
    infinite = np.isinf(expected["sali"])
    assert [pair["sali"] is None for pair in pairs] == infinite.tolist()
    assert [pair["sali"] for pair in pairs if pair["sali"] is not None] == pytest.approx(
        expected["sali"][~infinite].tolist()
    )
    for page in pages:
        item_ids = {id for pair in page["pairs"] for id in (pair["a"], pair["b"])}
        assert [item["id"] for item in page["items"]] == sorted(item_ids)
    assert {**pages[0]["items"][0], "generation": pages[0]["generation"]} == client.get(
        f"{URL}/items/{pages[0]['items'][0]['id']}"
    ).json()


@pytest.mark.parametrize("by", ["sali", "difference"])
def test_identical_fingerprints_are_ranked_separately(
    client: httpx.Client, items: pd.DataFrame, edges: pd.DataFrame, by: str
) -> None:
    expected = rank_pairs(edges, items["molwt"], by)
    identical = expected["similarity"] == 1
    bounds = {"min_similarity": 0.4, "max_similarity": 0.9}
    similar = expected[(expected["similarity"] <= np.float32(0.9)) & ~identical]
    cliffs = fetch_cliffs(client, "molwt", by=by, limit=1000, **bounds)
    assert [(pair["a"], pair["b"]) for pair in cliffs["pairs"]] == [
        *zip(similar["a"].head(1000), similar["b"].head(1000), strict=True)
    ]
    assert (cliffs["total"], cliffs["identical"]) == (len(similar), identical.sum())
    alone = fetch_cliffs(client, "molwt", by=by, min_similarity=1, exclude_identical=False, limit=1000)
    same = expected[identical]
    assert [(pair["a"], pair["b"]) for pair in alone["pairs"]] == [*zip(same["a"], same["b"], strict=True)]
    assert alone["total"] == alone["identical"] == len(same)


def test_default_ranks_similar_pairs_by_difference(
    client: httpx.Client, items: pd.DataFrame, edges: pd.DataFrame
) -> None:
    expected = rank_pairs(edges, items["molwt"], "difference")
    expected = expected[(expected["similarity"] >= np.float32(0.7)) & (expected["similarity"] < 1)]
    cliffs = fetch_cliffs(client, "molwt", limit=1000)
    assert [(pair["a"], pair["b"]) for pair in cliffs["pairs"]] == [
        *zip(expected["a"].head(1000), expected["b"].head(1000), strict=True)
    ]
    assert cliffs["total"] == len(expected) > 10
    assert all(pair["sali"] is not None for pair in cliffs["pairs"])


def test_both_items_pass_the_filters(client: httpx.Client, items: pd.DataFrame, edges: pd.DataFrame) -> None:
    selection = items[items["molwt"].between(100, 220)]
    expected = rank_pairs(
        edges[edges["a"].isin(selection.index) & edges["b"].isin(selection.index)], items["molwt"], "sali"
    )
    expected = expected[expected["similarity"].between(np.float32(0.5), np.float32(0.999))]
    expected = expected[expected["difference"] >= 5]
    filters = json.dumps([{"property": "molwt", "min": 100, "max": 220}])
    query = {"by": "sali", "min_similarity": 0.5, "min_difference": 5, "limit": 1000}
    cliffs = fetch_cliffs(client, "molwt", filters=filters, **query)
    assert [(pair["a"], pair["b"]) for pair in cliffs["pairs"]] == [*zip(expected["a"], expected["b"], strict=True)]
    assert cliffs["total"] == len(expected) > 5


def test_both_items_have_the_substructure(client: httpx.Client, items: pd.DataFrame, edges: pd.DataFrame) -> None:
    nitro = Chem.MolFromSmarts("[N+](=O)[O-]")
    selection = items[items["smiles"].map(lambda each: Chem.MolFromSmiles(each).HasSubstructMatch(nitro))]
    expected = rank_pairs(
        edges[edges["a"].isin(selection.index) & edges["b"].isin(selection.index)], items["molwt"], "sali"
    )
    for pattern in ("[N+](=O)[O-]", json.dumps({"smarts": "[N+](=O)[O-]"})):
        query = {"by": "sali", "min_similarity": 0.4, "exclude_identical": False, "limit": 1000}
        cliffs = fetch_cliffs(client, "molwt", substructure=pattern, **query)
        assert [(pair["a"], pair["b"]) for pair in cliffs["pairs"]] == [*zip(expected["a"], expected["b"], strict=True)]
    assert cliffs["total"] == len(expected) > 3


def post_cliffs(client: httpx.Client, property: str, **body: Any) -> dict[str, Any]:
    reply = until_available(lambda: client.post(f"{URL}/cliffs", json={"property": property, **body}))
    assert reply.status_code == 200, reply.text
    page: dict[str, Any] = reply.json()
    return page


CONDITIONS: dict[str, tuple[dict[str, Any], Callable[[pd.DataFrame], "pd.Series[bool]"]]] = {
    "range": (
        {"filters": [{"property": "molwt", "min": 100, "max": 220}]},
        lambda items: items["molwt"].between(100, 220),
    ),
    "name": ({"name": "1"}, lambda items: items["names"].map(lambda names: any(n.startswith("1") for n in names))),
    "substructure": (
        {"substructure": "c1ccccc1"},
        lambda items: items["smiles"].map(lambda each: has_substructure(each, "c1ccccc1")),
    ),
    "scaffold": (
        {"scaffold": "c1ccccc1"},
        lambda items: items["smiles"].map(lambda each: MurckoScaffoldSmiles(each) == "c1ccccc1"),
    ),
    "list": ({"ids": [*range(0, 400, 2)]}, lambda items: pd.Series(items.index.isin(range(0, 400, 2)), items.index)),
    "all of them": (
        {"ids": [*range(400)], "name": "1", "filters": [{"property": "molwt", "max": 250}]},
        lambda items: (
            items["names"].map(lambda names: any(n.startswith("1") for n in names))
            & (items.index < 400)
            & (items["molwt"] <= 250)
        ),
    ),
}


def has_substructure(smiles: str, smarts: str) -> bool:
    return Chem.MolFromSmiles(smiles).HasSubstructMatch(Chem.MolFromSmarts(smarts))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_both_items_match_the_query_of_a_body(
    client: httpx.Client, items: pd.DataFrame, edges: pd.DataFrame, condition: str
) -> None:
    query, matches = CONDITIONS[condition]
    selection = items.index[matches(items)]
    chosen = edges[edges["a"].isin(selection) & edges["b"].isin(selection)]
    expected = rank_pairs(chosen, items["molwt"], "difference")
    body = {"min_similarity": 0.4, "exclude_identical": False, **query}
    page = post_cliffs(client, "molwt", limit=5, **body)
    pairs = page["pairs"]
    while page["next_cursor"]:
        page = post_cliffs(client, "molwt", limit=1000, cursor=page["next_cursor"], **body)
        pairs += page["pairs"]
    assert [(pair["a"], pair["b"]) for pair in pairs] == [*zip(expected["a"], expected["b"], strict=True)]
    assert page["total"] == len(expected) > 5
    assert page["identical"] == (expected["similarity"] == 1).sum()


def test_body_without_conditions_ranks_all_pairs(client: httpx.Client) -> None:
    assert post_cliffs(client, "molwt", limit=50) == fetch_cliffs(client, "molwt", limit=50) | {
        "next_cursor": post_cliffs(client, "molwt", limit=50)["next_cursor"]
    }


@pytest.mark.parametrize(
    ("body", "expected_text"),
    [
        ({}, "property"),
        ({"property": "weight"}, "molwt"),
        ({"property": "molwt", "ids": "1"}, "ids"),
        ({"property": "molwt", "min_similarity": "0.5"}, "min_similarity"),
        ({"property": "molwt", "cluster": {"id": 1}, "neighbors_of": {"id": 1}}, "at most one of"),
    ],
)
def test_error_names_the_invalid_field(client: httpx.Client, body: dict[str, Any], expected_text: str) -> None:
    reply = client.post(f"{URL}/cliffs", json=body)
    assert reply.status_code == 422, reply.text
    assert expected_text in reply.text


def test_cursor_of_another_query_is_refused(client: httpx.Client) -> None:
    cursor = fetch_cliffs(client, "molwt", limit=1)["next_cursor"]
    for other in ({"property": "rings"}, {"property": "molwt", "by": "sali"}):
        assert client.get(f"{URL}/cliffs", params={**other, "cursor": cursor}).status_code == 400


@pytest.mark.parametrize(
    ("query", "expected_text"),
    [
        ({"property": "weight"}, "molwt"),
        ({"property": "names"}, "molwt"),
        ({}, "property"),
        ({"property": "molwt", "by": "size"}, "sali"),
        ({"property": "molwt", "min_similarity": 0.1}, "0.4 to 1"),
        ({"property": "molwt", "max_similarity": 0.6}, "min_similarity is 0.7"),
        ({"property": "molwt", "min_similarity": 0.9, "max_similarity": 0.8}, "min_similarity 0.9"),
        ({"property": "molwt", "max_similarity": 1.1}, "max_similarity"),
        ({"property": "molwt", "exclude_identical": "perhaps"}, "exclude_identical"),
        ({"property": "molwt", "min_difference": -1}, "min_difference"),
        ({"property": "molwt", "min_difference": "nan"}, "min_difference"),
        ({"property": "molwt", "filters": '[{"property": "weight", "min": 1}]'}, "molwt"),
        ({"property": "molwt", "filters": "["}, "filters"),
        ({"property": "molwt", "limit": 1001}, "1000"),
        ({"property": "molwt", "other": 1}, "unknown"),
    ],
)
def test_error_names_the_invalid_parameter(client: httpx.Client, query: dict[str, Any], expected_text: str) -> None:
    reply = client.get(f"{URL}/cliffs", params=query)
    assert reply.status_code == 422, reply.text
    assert expected_text in reply.text
