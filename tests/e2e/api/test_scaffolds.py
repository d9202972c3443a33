"""Scaffolds of molecules equal those of RDKit."""

import io
import time
from typing import Any

import httpx
import pandas as pd
import pytest
from rdkit.Chem.Scaffolds import MurckoScaffold

URL = "/v1/collections/nci"


@pytest.fixture(scope="module")
def items(client: httpx.Client) -> pd.DataFrame:
    """Return the items with their scaffolds."""
    reply = client.get(f"{URL}/export", params={"what": "items", "format": "parquet"})
    frame = pd.read_parquet(io.BytesIO(reply.content))
    return frame.assign(scaffold=frame["smiles"].map(MurckoScaffold.MurckoScaffoldSmiles))


def post(client: httpx.Client, path: str, **body: Any) -> httpx.Response:
    """Return the reply once the scaffolds are computed."""
    while True:
        reply = client.post(f"{URL}/{path}", json=body)
        if reply.status_code != 503:
            return reply
        assert "computing scaffolds" in reply.text
        time.sleep(int(reply.headers["Retry-After"]) / 10)


@pytest.mark.parametrize("smiles", ["c1ccccc1", "C1=CC=CC=C1", ""])
def test_query_by_scaffold_returns_the_molecules_with_this_scaffold(
    client: httpx.Client, items: pd.DataFrame, smiles: str
) -> None:
    scaffold = "c1ccccc1" if smiles else ""
    reply = post(client, "items/query", scaffold=smiles, limit=1000)
    assert reply.status_code == 200, reply.text
    assert [item["id"] for item in reply.json()["items"]] == items["id"][items["scaffold"] == scaffold].tolist()
    assert reply.json()["total"] > 10


@pytest.mark.parametrize(
    ("scaffold", "problem"),
    [
        ("Cc1ccccc1", "outside its Bemis-Murcko scaffold"),
        ("c1cc", "not a molecule"),
        ("C1" + "C" * 10_000, "10000"),
        ("C1" + "C" * 2_000 + "1", "atoms"),
    ],
)
def test_query_by_a_text_that_is_no_scaffold_is_refused(client: httpx.Client, scaffold: str, problem: str) -> None:
    reply = post(client, "items/query", scaffold=scaffold)
    assert reply.status_code == 422, reply.text
    assert problem in reply.text


def test_scaffold_narrows_listed_items(client: httpx.Client) -> None:
    ids = post(client, "items/query", scaffold="c1ccccc1").json()["items"]
    listed = [each["id"] for each in ids][:4:2]
    reply = post(client, "items/query", scaffold="c1ccccc1", ids=[*reversed(listed), 0])
    assert [each["id"] for each in reply.json()["items"] if each["id"]] == [*reversed(listed)]


def all_scaffolds(client: httpx.Client, limit: int = 1000, **body: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the scaffolds of all pages, and the last page."""
    scaffolds, cursor = list[dict[str, Any]](), None
    while True:
        reply = post(client, "scaffolds", **body, limit=limit, cursor=cursor)
        assert reply.status_code == 200, reply.text
        page: dict[str, Any] = reply.json()
        scaffolds += page["scaffolds"]
        cursor = page["next_cursor"]
        if cursor is None:
            assert len(scaffolds) == page["total"]
            return scaffolds, page


def test_tree_counts_the_molecules_of_each_scaffold(client: httpx.Client, items: pd.DataFrame) -> None:
    scaffolds, page = all_scaffolds(client, property="molwt")
    assert page["items"] == len(items)
    own = {each["scaffold"]: each["items"] for each in scaffolds if each["items"]}
    assert own == items["scaffold"].value_counts().to_dict()
    molwt = items.groupby("scaffold")["molwt"].agg(["min", "max", "mean", "count"])
    for each in scaffolds:
        children = [other for other in scaffolds if other["parent"] == each["scaffold"]]
        assert each["children"] == len(children)
        assert each["branch_items"] == each["items"] + sum(child["branch_items"] for child in children)
        assert each["branch_range"]["values"] == each["branch_items"]
        if each["items"]:
            low, high, mean, count = molwt.loc[each["scaffold"]]
            range_ = {"min": low, "max": high, "mean": pytest.approx(mean), "values": count}
            assert each["range"] == range_
        else:
            assert each["range"] == {"min": None, "max": None, "mean": None, "values": 0}
    roots = [each for each in scaffolds if each["depth"] == 0]
    assert sum(each["branch_items"] for each in roots) == len(items)
    assert all(each["parent"] is None for each in roots)


def test_tree_of_a_series_is_the_same_page_by_page(client: httpx.Client, items: pd.DataFrame) -> None:
    series: dict[str, Any] = {"filters": [{"property": "molwt", "min": 200}]}
    scaffolds, page = all_scaffolds(client, **series)
    assert page["items"] == (items["molwt"] >= 200).sum()
    assert scaffolds == all_scaffolds(client, limit=7, **series)[0]
    assert {each["range"] for each in scaffolds} == {None}
    below = all_scaffolds(client, **series, parent="C1=CC=CC=C1", levels=1)[0]
    assert below == [each for each in scaffolds if each["parent"] == "c1ccccc1"]
    assert below


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"property": "colour"}, 422, "no numeric property"),
        ({"parent": "Cc1ccccc1"}, 422, "its scaffold is c1ccccc1"),
        ({"parent": "C1CCCCCCCCCCCCCCC1"}, 404, "no molecule of this collection"),
        ({"levels": 0}, 422, "levels"),
        ({"min_count": 0}, 422, "min_count"),
        ({"limit": 1001}, 422, "1000"),
        ({"ids": [10**6]}, 404, "1000000"),
        ({"cluster": {"id": 1}, "neighbors_of": {"id": 1}}, 422, "at most one of"),
        ({"depth": 3}, 422, "depth"),
        ({"cursor": "AAAA"}, 400, "cursor"),
    ],
)
def test_invalid_requests_are_refused(client: httpx.Client, body: dict[str, Any], status: int, text: str) -> None:
    reply = post(client, "scaffolds", **body)
    assert reply.status_code == status, reply.text
    assert text in reply.text
