"""Substructure filters equal RDKit's `HasSubstructMatch`."""

from functools import partial
from typing import Any

import httpx
import pytest
from rdkit import Chem

from tests.until import until_available

URL = "/v1/collections/nci"
SMARTS = [
    "c1ccccc1",
    "[#7;R]",
    "C(=O)[OX2H1]",
    "[!#6;!#1]~[!#6;!#1]",
    "[$([NX3;H2,H1;!$(NC=O)])]c",
    "[r5]",
    "[R2]",
    "[x3]",
    "*!@*",
    "*@*@*",
    "[k6]",
    "[$([#6;R]Br)]",
    "[Br]",
    "[N+](=O)[O-]",
    "C/C=C/C",
    "[C@H](N)C",
    "*1~*~*~*~*~*1",
    "[#6]",
    "[Pt]",
]
MOLBLOCK = Chem.MolToMolBlock(Chem.MolFromSmiles("c1ccncc1"))


def molecules(client: httpx.Client) -> dict[int, Chem.Mol]:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    return {item["id"]: Chem.MolFromSmiles(item["smiles"]) for item in items}


@pytest.fixture(scope="module")
def molecules_by_id(client: httpx.Client) -> dict[int, Chem.Mol]:
    return molecules(client)


def matching_ids(molecules_by_id: dict[int, Chem.Mol], pattern: Chem.Mol) -> list[int]:
    return [id for id, molecule in molecules_by_id.items() if molecule.HasSubstructMatch(pattern)]


def fetch(client: httpx.Client, path: str = "items/query", **body: Any) -> dict[str, Any]:
    reply = until_available(lambda: client.post(f"{URL}/{path}", json=body))
    assert reply.status_code == 200, reply.text
    fetched: dict[str, Any] = reply.json()
    return fetched


@pytest.mark.parametrize("smarts", SMARTS)
def test_filter_equals_rdkit(client: httpx.Client, molecules_by_id: dict[int, Chem.Mol], smarts: str) -> None:
    fetched = fetch(client, substructure=smarts, limit=1000)
    assert [item["id"] for item in fetched["items"]] == matching_ids(molecules_by_id, Chem.MolFromSmarts(smarts))
    assert fetched["total"] == len(fetched["items"])
    assert fetch(client, substructure={"smarts": smarts}, limit=1000)["items"] == fetched["items"]


@pytest.mark.parametrize(
    ("structure", "smiles"),
    [
        ({"smiles": "C1=CC=NC=C1"}, "c1ccncc1"),
        ({"inchi": "InChI=1S/C5H5N/c1-2-4-6-5-3-1/h1-5H"}, "c1ccncc1"),
        ({"molblock": MOLBLOCK}, "c1ccncc1"),
        ({"smiles": "CC"}, "CC"),
    ],
    ids=str,
)
def test_molecule_filter_is_not_read_as_smarts(
    client: httpx.Client, molecules_by_id: dict[int, Chem.Mol], structure: Any, smiles: str
) -> None:
    fetched = fetch(client, substructure=structure, limit=1000)
    assert [item["id"] for item in fetched["items"]] == matching_ids(molecules_by_id, Chem.MolFromSmiles(smiles))
    if smiles == "CC":
        assert fetched["total"] != fetch(client, substructure="CC")["total"]


def test_substructure_combines_with_other_conditions(
    client: httpx.Client, molecules_by_id: dict[int, Chem.Mol]
) -> None:
    conditions: dict[str, Any] = {
        "filters": [{"property": "molwt", "max": 300}],
        "name": "1",
        "sort": {"by": "molwt", "descending": True},
    }
    expected = [item["id"] for item in fetch(client, **conditions, limit=1000)["items"]]
    matches = set(matching_ids(molecules_by_id, Chem.MolFromSmarts("c1ccccc1")))
    expected = [id for id in expected if id in matches]
    pages: list[int] = []
    cursor: str | None = None
    while not pages or cursor:
        following: dict[str, str] = {} if cursor is None else {"cursor": cursor}
        page = fetch(client, substructure="c1ccccc1", **conditions, limit=7, **following)
        assert page["total"] == len(expected) > 14
        pages += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert pages == expected
    other = {"substructure": "c1ccccn1", **conditions, "limit": 7}
    cursor = fetch(client, substructure="c1ccccc1", **conditions, limit=7)["next_cursor"]
    assert client.post(f"{URL}/items/query", json={**other, "cursor": cursor}).status_code == 400


def test_substructure_combines_with_similarity(client: httpx.Client, molecules_by_id: dict[int, Chem.Mol]) -> None:
    similar = {"smiles": "CC(=O)Oc1ccccc1C(=O)O", "min_similarity": 0.15}
    near = fetch(client, similar=similar, limit=1000)["items"]
    matches = set(matching_ids(molecules_by_id, Chem.MolFromSmarts("C(=O)[OX2H1]")))
    expected = [item for item in near if item["id"] in matches]
    assert 0 < len(expected) < len(near)
    assert fetch(client, similar=similar, substructure="C(=O)[OX2H1]", limit=1000)["items"] == expected


def test_search_finds_the_most_similar_matches(client: httpx.Client, molecules_by_id: dict[int, Chem.Mol]) -> None:
    everything = fetch(client, "search", smiles="CC(=O)Oc1ccccc1C(=O)O", limit=1000)["hits"]
    matches = set(matching_ids(molecules_by_id, Chem.MolFromSmarts("[#7]")))
    filters = [{"property": "rings", "equals": 1}]
    expected = [hit for hit in everything if hit["item"]["id"] in matches and hit["item"]["properties"]["rings"] == 1]
    search_body: dict[str, Any] = {"smiles": "CC(=O)Oc1ccccc1C(=O)O", "filters": filters, "limit": 9}
    assert fetch(client, "search", **search_body, substructure="[#7]")["hits"] == expected[:9]
    structure = {"smiles": "N"}
    assert fetch(client, "search", **search_body, substructure=structure)["hits"] == expected[:9]


def test_neighbors_are_filtered_by_substructure(client: httpx.Client, molecules_by_id: dict[int, Chem.Mol]) -> None:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    url = f"{URL}/items/{max(items, key=lambda item: item['degree'])['id']}/neighbors"
    everything = client.get(url, params={"limit": 1000}).json()["neighbors"]
    for params, pattern in (
        ({"substructure": "[#7]"}, Chem.MolFromSmarts("[#7]")),
        ({"substructure": '{"smiles": "CO"}'}, Chem.MolFromSmiles("CO")),
    ):
        matches = set(matching_ids(molecules_by_id, pattern))
        expected = [each for each in everything if each["item"]["id"] in matches]
        fetched = until_available(partial(client.get, url, params={**params, "limit": 2})).json()
        assert fetched["neighbors"] == expected[:2]
        assert 0 < fetched["total"] == len(expected) < len(everything)


def test_unescaped_charges_are_kept(client: httpx.Client) -> None:
    url = f"{URL}/items/0/neighbors?substructure="
    plain = until_available(lambda: client.get(f"{url}[N+](=O)[O-]"))
    assert plain.json() == until_available(lambda: client.get(f"{url}[N%2B](=O)[O-]")).json()


@pytest.mark.parametrize(
    ("substructure", "expected_text"),
    [
        ("C(", "C("),
        ("", "no atoms"),
        ("CC O", "white space"),
        ("Cé", "other than printable ASCII"),
        ("C" * 10_001, "10,000"),
        ({"smarts": "C", "smiles": "C"}, "exactly one"),
        ({}, "exactly one"),
        ({"smiles": "[C,N]"}, "[C,N]"),
        ({"smiles": "C" * 1001}, "1000"),
        (1, "substructure"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_invalid_patterns_are_refused(client: httpx.Client, substructure: Any, expected_text: str) -> None:
    for path, body in (("items/query", {}), ("search", {"smiles": "C"})):
        reply = client.post(f"{URL}/{path}", json={**body, "substructure": substructure})
        assert reply.status_code == 422, reply.text
        assert expected_text in reply.text
        assert reply.json()["expected"] is not None or "exactly one" in expected_text or substructure == 1


def test_substructure_of_graphs_returns_409(client: httpx.Client) -> None:
    url = "/v1/collections/social"
    for reply in (
        client.post(f"{url}/items/query", json={"substructure": "C"}),
        client.get(f"{url}/items/0/neighbors", params={"substructure": "C"}),
    ):
        assert reply.status_code == 409
        assert "graphs have no substructures" in reply.json()["detail"]
        assert reply.json()["expected"] == "a collection of molecules"


def test_picks_and_exports_accept_a_substructure_query(
    client: httpx.Client, molecules_by_id: dict[int, Chem.Mol]
) -> None:
    query: dict[str, Any] = {"substructure": "c1ccccc1", "filters": [{"property": "molwt", "max": 200}]}
    ids = [item["id"] for item in fetch(client, **query, limit=1000)["items"]]
    assert set(fetch(client, "pick", count=5, **{"from": query})["ids"]) < set(ids)
    body = {"what": "items", "format": "csv", "query": query}
    exported = until_available(lambda: client.post(f"{URL}/export", json=body)).text
    assert [int(line.partition(",")[0]) for line in exported.splitlines()[1:]] == ids
