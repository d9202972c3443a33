"""GET cliffs beside pandas, over what the API exports."""

import io
import json
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from rdkit import Chem

from tests.until import once_ready

URL = "/v1/collections/nci"


def exported(client: httpx.Client, what: str) -> pd.DataFrame:
    reply = client.get(f"{URL}/export", params={"what": what, "format": "parquet"})
    return pd.read_parquet(io.BytesIO(reply.content))


@pytest.fixture(scope="module")
def items(client: httpx.Client) -> pd.DataFrame:
    return exported(client, "items").set_index("id")


@pytest.fixture(scope="module")
def edges(client: httpx.Client) -> pd.DataFrame:
    return exported(client, "edges").rename(columns={"source": "a", "target": "b"})


def answered(client: httpx.Client, property: str, **query: Any) -> dict[str, Any]:
    reply = once_ready(lambda: client.get(f"{URL}/cliffs", params={"property": property, **query}))
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def ranked(edges: pd.DataFrame, values: "pd.Series[float]", by: str) -> pd.DataFrame:
    """Every pair that differs, the steepest first."""
    pairs = edges.assign(difference=(edges["a"].map(values) - edges["b"].map(values)).abs())
    pairs["sali"] = pairs["difference"] / (1 - pairs["similarity"].astype(float))
    return pairs[pairs["difference"] > 0].sort_values([by, "a", "b"], ascending=[False, True, True])


@pytest.mark.parametrize("by", ["sali", "difference"])
def test_every_page_beside_pandas(client: httpx.Client, items: pd.DataFrame, edges: pd.DataFrame, by: str) -> None:
    """Rings are few and often alike, so that ids decide about most."""
    expected = ranked(edges, items["rings"], by)
    pages: list[dict[str, Any]] = []
    while not pages or pages[-1]["next_cursor"]:
        cursor = {"cursor": pages[-1]["next_cursor"]} if pages else {}
        pages.append(answered(client, "rings", by=by, limit=60, **cursor))
    pairs = [pair for page in pages for pair in page["pairs"]]
    assert len(pages) > 2
    assert {page["total"] for page in pages} == {len(expected)}
    assert [(pair["a"], pair["b"]) for pair in pairs] == [*zip(expected["a"], expected["b"], strict=True)]
    infinite = np.isinf(expected["sali"])
    assert [pair["sali"] is None for pair in pairs] == infinite.tolist()
    assert [pair["sali"] for pair in pairs if pair["sali"] is not None] == pytest.approx(
        expected["sali"][~infinite].tolist()
    )
    for page in pages:
        shown = {id for pair in page["pairs"] for id in (pair["a"], pair["b"])}
        assert [item["id"] for item in page["items"]] == sorted(shown)
    assert {**pages[0]["items"][0], "generation": pages[0]["generation"]} == client.get(
        f"{URL}/items/{pages[0]['items'][0]['id']}"
    ).json()


def test_both_items_pass_the_filters(client: httpx.Client, items: pd.DataFrame, edges: pd.DataFrame) -> None:
    kept = items[items["molwt"].between(100, 220)]
    expected = ranked(edges[edges["a"].isin(kept.index) & edges["b"].isin(kept.index)], items["molwt"], "sali")
    expected = expected[(expected["similarity"] >= np.float32(0.5)) & (expected["difference"] >= 5)]
    filters = json.dumps([{"property": "molwt", "min": 100, "max": 220}])
    found = answered(client, "molwt", filters=filters, min_similarity=0.5, min_difference=5, limit=1000)
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [*zip(expected["a"], expected["b"], strict=True)]
    assert found["total"] == len(expected) > 5


def test_both_items_have_the_substructure(client: httpx.Client, items: pd.DataFrame, edges: pd.DataFrame) -> None:
    nitro = Chem.MolFromSmarts("[N+](=O)[O-]")
    kept = items[items["smiles"].map(lambda each: Chem.MolFromSmiles(each).HasSubstructMatch(nitro))]
    expected = ranked(edges[edges["a"].isin(kept.index) & edges["b"].isin(kept.index)], items["molwt"], "sali")
    for written in ("[N+](=O)[O-]", json.dumps({"smarts": "[N+](=O)[O-]"})):
        found = answered(client, "molwt", substructure=written, limit=1000)
        assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [*zip(expected["a"], expected["b"], strict=True)]
    assert found["total"] == len(expected) > 3


def test_a_cursor_is_of_its_query(client: httpx.Client) -> None:
    cursor = answered(client, "molwt", limit=1)["next_cursor"]
    for other in ({"property": "rings"}, {"property": "molwt", "by": "difference"}):
        assert client.get(f"{URL}/cliffs", params={**other, "cursor": cursor}).status_code == 400


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"property": "weight"}, "molwt"),
        ({"property": "names"}, "molwt"),
        ({}, "property"),
        ({"property": "molwt", "by": "size"}, "sali"),
        ({"property": "molwt", "min_similarity": 0.1}, "0.4 to 1"),
        ({"property": "molwt", "min_difference": -1}, "min_difference"),
        ({"property": "molwt", "min_difference": "nan"}, "min_difference"),
        ({"property": "molwt", "filters": '[{"property": "weight", "min": 1}]'}, "molwt"),
        ({"property": "molwt", "filters": "["}, "filters"),
        ({"property": "molwt", "limit": 1001}, "1000"),
        ({"property": "molwt", "other": 1}, "unknown"),
    ],
)
def test_what_is_wrong_is_named(client: httpx.Client, query: dict[str, Any], named: str) -> None:
    reply = client.get(f"{URL}/cliffs", params=query)
    assert reply.status_code == 422, reply.text
    assert named in reply.text
