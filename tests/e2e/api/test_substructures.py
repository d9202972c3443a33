"""Substructures as filters, beside RDKit's own `HasSubstructMatch`."""

from functools import partial
from typing import Any

import httpx
import pytest
from rdkit import Chem

from tests.until import once_ready

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
def stored(client: httpx.Client) -> dict[int, Chem.Mol]:
    return molecules(client)


def having(stored: dict[int, Chem.Mol], pattern: Chem.Mol) -> list[int]:
    return [id for id, molecule in stored.items() if molecule.HasSubstructMatch(pattern)]


def answered(client: httpx.Client, path: str = "items/query", **body: Any) -> dict[str, Any]:
    reply = once_ready(lambda: client.post(f"{URL}/{path}", json=body))
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


@pytest.mark.parametrize("smarts", SMARTS)
def test_all_that_have_it_are_found(client: httpx.Client, stored: dict[int, Chem.Mol], smarts: str) -> None:
    found = answered(client, substructure=smarts, limit=1000)
    assert [item["id"] for item in found["items"]] == having(stored, Chem.MolFromSmarts(smarts))
    assert found["total"] == len(found["items"])
    assert answered(client, substructure={"smarts": smarts}, limit=1000)["items"] == found["items"]


@pytest.mark.parametrize(
    ("drawn", "smiles"),
    [
        ({"smiles": "C1=CC=NC=C1"}, "c1ccncc1"),
        ({"inchi": "InChI=1S/C5H5N/c1-2-4-6-5-3-1/h1-5H"}, "c1ccncc1"),
        ({"molblock": MOLBLOCK}, "c1ccncc1"),
        ({"smiles": "CC"}, "CC"),
    ],
    ids=str,
)
def test_a_molecule_is_no_smarts(client: httpx.Client, stored: dict[int, Chem.Mol], drawn: Any, smiles: str) -> None:
    found = answered(client, substructure=drawn, limit=1000)
    assert [item["id"] for item in found["items"]] == having(stored, Chem.MolFromSmiles(smiles))
    if smiles == "CC":
        assert found["total"] != answered(client, substructure="CC")["total"]


def test_it_is_one_condition_among_others(client: httpx.Client, stored: dict[int, Chem.Mol]) -> None:
    others: dict[str, Any] = {
        "filters": [{"property": "molwt", "max": 300}],
        "name": "1",
        "sort": {"by": "molwt", "descending": True},
    }
    expected = [item["id"] for item in answered(client, **others, limit=1000)["items"]]
    kept = set(having(stored, Chem.MolFromSmarts("c1ccccc1")))
    expected = [id for id in expected if id in kept]
    pages: list[int] = []
    cursor: str | None = None
    while not pages or cursor:
        following: dict[str, str] = {} if cursor is None else {"cursor": cursor}
        page = answered(client, substructure="c1ccccc1", **others, limit=7, **following)
        assert page["total"] == len(expected) > 14
        pages += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert pages == expected
    other = {"substructure": "c1ccccn1", **others, "limit": 7}
    cursor = answered(client, substructure="c1ccccc1", **others, limit=7)["next_cursor"]
    assert client.post(f"{URL}/items/query", json={**other, "cursor": cursor}).status_code == 400


def test_what_is_near_and_has_it(client: httpx.Client, stored: dict[int, Chem.Mol]) -> None:
    similar = {"smiles": "CC(=O)Oc1ccccc1C(=O)O", "min_similarity": 0.15}
    near = answered(client, similar=similar, limit=1000)["items"]
    kept = set(having(stored, Chem.MolFromSmarts("C(=O)[OX2H1]")))
    expected = [item for item in near if item["id"] in kept]
    assert 0 < len(expected) < len(near)
    assert answered(client, similar=similar, substructure="C(=O)[OX2H1]", limit=1000)["items"] == expected


def test_a_search_finds_the_most_similar_of_those_that_have_it(
    client: httpx.Client, stored: dict[int, Chem.Mol]
) -> None:
    everything = answered(client, "search", smiles="CC(=O)Oc1ccccc1C(=O)O", limit=1000)["hits"]
    kept = set(having(stored, Chem.MolFromSmarts("[#7]")))
    filters = [{"property": "rings", "equals": 1}]
    expected = [hit for hit in everything if hit["item"]["id"] in kept and hit["item"]["properties"]["rings"] == 1]
    asked: dict[str, Any] = {"smiles": "CC(=O)Oc1ccccc1C(=O)O", "filters": filters, "limit": 9}
    assert answered(client, "search", **asked, substructure="[#7]")["hits"] == expected[:9]
    drawn = {"smiles": "N"}
    assert answered(client, "search", **asked, substructure=drawn)["hits"] == expected[:9]


def test_neighbours_that_have_it(client: httpx.Client, stored: dict[int, Chem.Mol]) -> None:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    url = f"{URL}/items/{max(items, key=lambda item: item['degree'])['id']}/neighbors"
    everything = client.get(url, params={"limit": 1000}).json()["neighbors"]
    for params, pattern in (
        ({"substructure": "[#7]"}, Chem.MolFromSmarts("[#7]")),
        ({"substructure": '{"smiles": "CO"}'}, Chem.MolFromSmiles("CO")),
    ):
        kept = set(having(stored, pattern))
        expected = [each for each in everything if each["item"]["id"] in kept]
        found = once_ready(partial(client.get, url, params={**params, "limit": 2})).json()
        assert found["neighbors"] == expected[:2]
        assert 0 < found["total"] == len(expected) < len(everything)


def test_charges_that_were_not_escaped(client: httpx.Client) -> None:
    url = f"{URL}/items/0/neighbors?substructure="
    plain = once_ready(lambda: client.get(f"{url}[N+](=O)[O-]"))
    assert plain.json() == once_ready(lambda: client.get(f"{url}[N%2B](=O)[O-]")).json()


@pytest.mark.parametrize(
    ("substructure", "named"),
    [
        ("C(", "C("),
        ("", "no atoms"),
        ("CC O", "white space"),
        ("Cé", "no SMARTS holds"),
        ("C" * 10_001, "10,000"),
        ({"smarts": "C", "smiles": "C"}, "exactly one"),
        ({}, "exactly one"),
        ({"smiles": "[C,N]"}, "[C,N]"),
        ({"smiles": "C" * 1001}, "1000"),
        (1, "substructure"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_is_no_pattern_is_named(client: httpx.Client, substructure: Any, named: str) -> None:
    for path, body in (("items/query", {}), ("search", {"smiles": "C"})):
        reply = client.post(f"{URL}/{path}", json={**body, "substructure": substructure})
        assert reply.status_code == 422, reply.text
        assert named in reply.text
        assert reply.json()["expected"] is not None or "exactly one" in named or substructure == 1


def test_other_kinds_have_none(client: httpx.Client) -> None:
    url = "/v1/collections/social"
    for reply in (
        client.post(f"{url}/items/query", json={"substructure": "C"}),
        client.get(f"{url}/items/0/neighbors", params={"substructure": "C"}),
    ):
        assert reply.status_code == 409
        assert "graphs have no substructures" in reply.json()["detail"]
        assert reply.json()["expected"] == "a collection of molecules"


def test_picks_and_exports_take_what_a_query_finds(client: httpx.Client, stored: dict[int, Chem.Mol]) -> None:
    query: dict[str, Any] = {"substructure": "c1ccccc1", "filters": [{"property": "molwt", "max": 200}]}
    ids = [item["id"] for item in answered(client, **query, limit=1000)["items"]]
    assert set(answered(client, "pick", count=5, **{"from": query})["ids"]) < set(ids)
    body = {"what": "items", "format": "csv", "query": query}
    exported = once_ready(lambda: client.post(f"{URL}/export", json=body)).text
    assert [int(line.partition(",")[0]) for line in exported.splitlines()[1:]] == ids
