from xml.etree import ElementTree

import httpx
import pytest
from rdkit import Chem

URL = "/v1/collections/nci"
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
INCHI = "InChI=1S/C9H8O4/c1-6(10)13-8-5-3-2-4-7(8)9(11)12/h2-5H,1H3,(H,11,12)"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    "structure", [{"smiles": "OC(=O)C1=C(C=CC=C1)OC(C)=O"}, {"inchi": INCHI}], ids=["kekulised", "inchi"]
)
def test_structure_is_standardized_by_the_recipe(client: httpx.Client, structure: dict[str, str]) -> None:
    reply = client.get(f"{URL}/structure", params=structure)
    assert reply.json() == {
        "generation": reply.headers["Graphkin-Generation"],
        "smiles": Chem.CanonSmiles(ASPIRIN),
        "id": None,
    }


def test_stored_structure_has_its_id(client: httpx.Client) -> None:
    for item in client.get(f"{URL}/items", params={"limit": 50}).json()["items"]:
        backwards = Chem.MolToSmiles(Chem.MolFromSmiles(item["smiles"]), canonical=False, rootedAtAtom=0)
        structure_reply = client.get(f"{URL}/structure", params={"smiles": backwards}).json()
        assert (structure_reply["smiles"], structure_reply["id"]) == (item["smiles"], item["id"])


@pytest.mark.parametrize("structure", [{"smiles": ASPIRIN}, {"inchi": INCHI}], ids=["smiles", "inchi"])
def test_any_structure_has_a_depiction(client: httpx.Client, structure: dict[str, str]) -> None:
    reply = client.get(f"{URL}/structure.svg", params={**structure, "width": 300, "height": 100})
    assert reply.headers["content-type"] == "image/svg+xml"
    svg = ElementTree.fromstring(reply.content)
    assert (svg.get("width"), svg.get("height")) == ("300px", "100px")
    assert svg.findtext(f"{SVG}title") == Chem.CanonSmiles(ASPIRIN)


def test_unescaped_plus_is_kept(client: httpx.Client) -> None:
    assert client.get(f"{URL}/structure?smiles=C[N+](C)(C)C").json()["smiles"] == "C[N+](C)(C)C"
    assert client.get(f"{URL}/structure.svg?smiles=C[N+](C)(C)C").status_code == 200


@pytest.mark.parametrize("escaped", ["%20%7C%261:1,6%7C", "+%7C%261:1,6%7C"])
def test_space_before_a_cxsmiles_extension_is_kept(client: httpx.Client, escaped: str) -> None:
    """Unescaped pluses before the extension are still pluses."""
    racemate = f"{URL}/{{}}?smiles=C[C@H](O)C[N+](C)([C@H](F)C)C{escaped}"
    text = client.get(racemate.format("structure")).json()["smiles"]
    assert text.endswith("|")
    assert "[N+]" in text
    svg = ElementTree.fromstring(client.get(racemate.format("structure.svg")).content)
    assert svg.findtext(f"{SVG}title") == text


@pytest.mark.parametrize("route", ["structure", "structure.svg"])
@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        (f"smiles=C&inchi={INCHI}", 422),
        ("smiles=CC(", 422),
        ("smiles=", 422),
        ("smiles=" + "C" * 10_001, 422),
        ("inchi=CCO", 422),
        ("smiles=C&unknown=1", 422),
        ("smiles=CC%20%7C$;Boc$%7C", 422),
        ("smiles=%EF%BB%BFCC", 422),
        (f"smiles=C&generation={'0' * 64}", 404),
    ],
)
def test_invalid_structures_are_refused(client: httpx.Client, route: str, query: str, status: int) -> None:
    assert client.get(f"{URL}/{route}?{query}").status_code == status


@pytest.mark.parametrize("route", ["structure", "structure.svg"])
def test_structure_of_a_graph_collection_returns_409(client: httpx.Client, route: str) -> None:
    assert client.get(f"/v1/collections/graphs/{route}?smiles=C").status_code == 409
