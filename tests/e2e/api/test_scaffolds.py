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


def test_scaffold_excludes_other_sources(client: httpx.Client) -> None:
    reply = post(client, "items/query", scaffold="c1ccccc1", ids=[1])
    assert reply.status_code == 422
    assert "at most one of similar, neighbors_of, cluster, scaffold, ids" in reply.text
