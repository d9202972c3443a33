"""Descriptors over HTTP: every request that names a column accepts them, and a new structure gets them."""

import csv
import io
import json
from typing import Any

import httpx
import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from tests.until import until_available

URL = "/v1/collections/nci"
NAMES = {
    "descriptor.molecular_weight": Descriptors.MolWt,
    "descriptor.tpsa": Descriptors.TPSA,
    "descriptor.qed": Descriptors.qed,
}


def wait(client: httpx.Client, method: str, path: str, **options: Any) -> httpx.Response:
    """Repeat a request until the descriptors are computed."""

    def send() -> httpx.Response:
        reply = client.request(method, path, **options)
        assert reply.status_code != 503 or "computing" in reply.json()["detail"]
        return reply

    reply = until_available(send)
    assert reply.status_code == 200, reply.text
    return reply


@pytest.fixture(scope="module")
def frame(client: httpx.Client) -> pd.DataFrame:
    """Return the items with their descriptors, as an export writes them."""
    columns = ["id", "smiles", *NAMES]
    reply = wait(client, "GET", f"{URL}/export", params={"what": "items", "format": "parquet", "columns": columns})
    return pd.read_parquet(io.BytesIO(reply.content))


def test_export_holds_descriptors_that_equal_rdkit(frame: pd.DataFrame) -> None:
    molecules = frame["smiles"].map(Chem.MolFromSmiles)
    for name, function in NAMES.items():
        assert frame[name].tolist() == molecules.map(function).tolist()


def test_list_has_labels_and_units(client: httpx.Client) -> None:
    reply = client.get(f"{URL}/descriptors").json()
    by_name = {each["name"]: each for each in reply["descriptors"]}
    assert len(by_name) == 11
    assert (by_name["descriptor.tpsa"]["label"], by_name["descriptor.tpsa"]["unit"]) == ("TPSA", "Å²")
    assert by_name["descriptor.qed"]["unit"] is None
    assert reply["activities"] == []


def test_query_filters_sorts_and_returns_descriptors(client: httpx.Client, frame: pd.DataFrame) -> None:
    body = {
        "filters": [{"property": "descriptor.tpsa", "min": 40, "max": 80}],
        "sort": {"by": "descriptor.qed", "descending": True},
        "columns": ["descriptor.qed", "rings"],
        "limit": 1000,
    }
    items = wait(client, "POST", f"{URL}/items/query", json=body).json()["items"]
    selection = frame[frame["descriptor.tpsa"].between(40, 80)]
    expected = selection.sort_values(["descriptor.qed", "id"], ascending=[False, True])
    assert [item["id"] for item in items] == expected["id"].tolist()
    assert [item["computed"] for item in items] == [{"descriptor.qed": value} for value in expected["descriptor.qed"]]
    assert {*items[0]["properties"]} == {"rings"}
    assert len(items) > 20


@pytest.mark.parametrize("structure", [{"smiles": "OCC"}, {"inchi": "InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3"}])
def test_structure_gets_descriptors(client: httpx.Client, structure: dict[str, str]) -> None:
    reply = client.get(f"{URL}/structure/descriptors", params=structure).json()
    ethanol = Chem.MolFromSmiles("CCO")
    assert reply["smiles"] == "CCO"
    assert {name: reply["descriptors"][name] for name in NAMES} == {name: of(ethanol) for name, of in NAMES.items()}
    assert reply["id"] == client.get(f"{URL}/structure", params={"smiles": "CCO"}).json()["id"]


def test_other_requests_take_descriptors(client: httpx.Client, frame: pd.DataFrame) -> None:
    condition = {"property": "descriptor.molecular_weight", "max": 150}
    light = {*frame["id"][frame["descriptor.molecular_weight"] <= 150]}
    hits = wait(client, "POST", f"{URL}/search", json={"smiles": "CCO", "filters": [condition]}).json()["hits"]
    assert {hit["item"]["id"] for hit in hits} <= light
    id = max(client.get(f"{URL}/items?limit=1000").json()["items"], key=lambda item: item["degree"])["id"]
    filters = json.dumps([condition])
    neighbors = client.get(f"{URL}/items/{id}/neighbors", params={"filters": filters, "limit": 1000}).json()[
        "neighbors"
    ]
    everyone = client.get(f"{URL}/items/{id}/neighbors", params={"limit": 1000}).json()["neighbors"]
    assert [each["item"]["id"] for each in neighbors] == [
        each["item"]["id"] for each in everyone if each["item"]["id"] in light
    ]
    pair = client.get(f"{URL}/cliffs", params={"property": "descriptor.qed"}).json()["pairs"][0]
    assert pair["difference"] == abs(frame["descriptor.qed"][pair["a"]] - frame["descriptor.qed"][pair["b"]])
    cluster = wait(client, "GET", f"{URL}/clusters", params={"method": "scaffold", "property": "descriptor.qed"}).json()
    assert cluster["clusters"][0]["range"]["values"] == cluster["clusters"][0]["size"]
    selection = {"ids": [7, 3], "what": "items", "format": "csv", "columns": ["id", "descriptor.tpsa"]}
    rows = csv.DictReader(client.post(f"{URL}/export", json=selection).text.splitlines())
    tpsa = frame["descriptor.tpsa"]
    assert [(int(row["id"]), float(row["descriptor.tpsa"])) for row in rows] == [(7, tpsa[7]), (3, tpsa[3])]


def test_graphs_have_no_descriptors(client: httpx.Client) -> None:
    reply = client.get("/v1/collections/social/descriptors").json()
    assert (reply["descriptors"], reply["activities"]) == ([], [])
    structure = client.get("/v1/collections/social/structure/descriptors", params={"smiles": "CCO"})
    assert structure.status_code == 409
    body = {"filters": [{"property": "descriptor.qed", "min": 0}]}
    reply = client.post("/v1/collections/social/items/query", json=body)
    assert (reply.status_code, reply.json()["given"]) == (422, "descriptor.qed")


@pytest.mark.parametrize(
    ("params", "expected"),
    [({}, "exactly one"), ({"smiles": "C1CC"}, "C1CC"), ({"smiles": "C", "inchi": "x"}, "exactly")],
)
def test_invalid_structure_is_refused(client: httpx.Client, params: dict[str, str], expected: str) -> None:
    reply = client.get(f"{URL}/structure/descriptors", params=params)
    assert reply.status_code == 422
    assert expected in reply.text
