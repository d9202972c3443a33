from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from rdkit import Chem

URL = "/v1/collections/nci/items"


def all_items(client: httpx.Client, url: str = URL) -> list[dict]:
    return client.get(url, params={"limit": 1000}).json()["items"]


def test_item_has_smiles_and_name_of_its_source(client: httpx.Client, nci_file: Path) -> None:
    smiles, name = nci_file.read_text().splitlines()[0].split()
    item = client.get(f"{URL}/0").json()
    assert item["id"] == 0
    assert item["smiles"] == Chem.CanonSmiles(smiles)
    assert item["names"] == [name]
    assert item["inchikey"] is None
    assert item["dropped"] == 0


def test_items_of_a_graph_collection_have_no_structure(client: httpx.Client) -> None:
    item = client.get("/v1/collections/graphs/items/0").json()
    assert item["smiles"] is None
    assert item["dropped"] is None
    assert item["degree"] == 1


def test_pages_have_all_items_in_order(client: httpx.Client) -> None:
    pages, parameters = [], {"limit": 150}
    while True:
        page = client.get(URL, params=parameters).json()
        pages.append(page["items"])
        if page["next_cursor"] is None:
            break
        parameters["cursor"] = page["next_cursor"]
    assert [len(page) for page in pages] == [150, 150, len(all_items(client)) - 300]
    assert [item["id"] for page in pages for item in page] == list(range(len(all_items(client))))


@pytest.mark.parametrize("notation", ["OC(=O)c1ccccc1", "c1ccccc1C(O)=O", "C1=CC=CC=C1C(=O)O"])
def test_lookup_by_smiles_ignores_notation(client: httpx.Client, notation: str) -> None:
    expected = [item for item in all_items(client) if item["smiles"] == Chem.CanonSmiles("O=C(O)c1ccccc1")]
    assert client.get(URL, params={"smiles": notation}).json()["items"] == expected


def test_unescaped_plus_is_kept(client: httpx.Client) -> None:
    charged = next(item for item in all_items(client) if "+" in item["smiles"])
    smiles = charged["smiles"].replace("#", "%23")
    assert client.get(f"{URL}?smiles={smiles}").json()["items"] == [charged]


def test_lookup_by_name_and_by_inchikey(client: httpx.Client) -> None:
    item = client.get(f"{URL}/3").json()
    assert [match["id"] for match in client.get(URL, params={"name": item["names"][0]}).json()["items"]] == [3]
    keyed = client.get("/v1/collections/keyed/items/3").json()
    assert keyed["inchikey"] == Chem.MolToInchiKey(Chem.MolFromSmiles(keyed["smiles"]))
    match = client.get("/v1/collections/keyed/items", params={"inchikey": keyed["inchikey"]}).json()
    assert [each["id"] for each in match["items"]] == [3]


@pytest.mark.parametrize("query", [{"smiles": "CCCCCCCCCCCCCCCCCCC"}, {"name": "nobody"}, {"name": ""}])
def test_lookup_without_match_returns_an_empty_list(client: httpx.Client, query: dict) -> None:
    reply = client.get(URL, params=query)
    assert reply.status_code == 200
    assert (reply.json()["items"], reply.json()["next_cursor"]) == ([], None)


def test_lookup_by_name_ignores_case(own_folder: Path, serve: Callable, publish: Callable) -> None:
    publish(own_folder, "cases", ["C Methane", "CC ethane", "CCC ETHANE", "CCCC Ethane"])
    with serve(own_folder) as client:

        def lookup(name: str) -> list[int]:
            reply = client.get("/v1/collections/cases/items", params={"name": name}).json()
            return [item["id"] for item in reply["items"]]

        assert [lookup(name) for name in ("methane", "METHANE", "ethane", "eThane", "thane")] == [
            [0], [0], [1], [1, 2, 3], [],
        ]  # fmt: skip


def test_items_with_a_shared_name_are_paged(own_folder: Path, serve: Callable, publish: Callable) -> None:
    publish(own_folder, "twins", ["C twin", "CC twin", "CCC other", "CCCC twin"])
    with serve(own_folder) as client:
        parameters = {"name": "twin", "limit": 2}
        first = client.get("/v1/collections/twins/items", params=parameters).json()
        second = client.get("/v1/collections/twins/items", params={**parameters, "cursor": first["next_cursor"]}).json()
        assert [item["id"] for item in first["items"]] == [0, 1]
        assert [item["id"] for item in second["items"]] == [3]
        assert second["next_cursor"] is None
