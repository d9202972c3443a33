import httpx
import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

URL = "/v1/collections/nci"
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.fixture(scope="module")
def brute_force(client: httpx.Client) -> list[tuple[int, float]]:
    """Return (id, similarity to aspirin) of every item, computed by RDKit, most similar first, then by id."""
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"])) for item in items]
    similarities = DataStructs.BulkTanimotoSimilarity(generator.GetFingerprint(Chem.MolFromSmiles(ASPIRIN)), prints)
    return sorted(enumerate(similarities), key=lambda pair: (-np.float32(pair[1]), pair[0]))


STRUCTURES = [
    {"smiles": ASPIRIN},
    {"smiles": "OC(=O)C1=C(C=CC=C1)OC(C)=O"},
    {"inchi": "InChI=1S/C9H8O4/c1-6(10)13-8-5-3-2-4-7(8)9(11)12/h2-5H,1H3,(H,11,12)"},
    {"molblock": Chem.MolToMolBlock(Chem.MolFromSmiles(ASPIRIN))},
]


@pytest.mark.parametrize("structure", STRUCTURES, ids=["canonical", "kekulised", "inchi", "molblock"])
def test_hits_equal_brute_force(
    client: httpx.Client, brute_force: list[tuple[int, float]], structure: dict[str, str]
) -> None:
    reply = client.post(f"{URL}/search", json={**structure, "limit": 1000}).json()
    assert [hit["item"]["id"] for hit in reply["hits"]] == [id for id, _ in brute_force]
    assert [hit["similarity"] for hit in reply["hits"]] == pytest.approx([s for _, s in brute_force], abs=1e-6)
    assert reply["total"] is None
    assert reply["query"]["smiles"] == Chem.CanonSmiles(ASPIRIN)


def test_threshold_below_the_stored_one_is_accepted(client: httpx.Client, brute_force: list[tuple[int, float]]) -> None:
    reply = client.post(f"{URL}/search", json={"smiles": ASPIRIN, "min_similarity": 0.2, "limit": 3}).json()
    assert reply["total"] == sum(similarity >= 0.2 for _, similarity in brute_force) > 3
    assert [hit["item"]["id"] for hit in reply["hits"]] == [id for id, _ in brute_force[:3]]


def test_stored_structure_is_its_own_first_hit(client: httpx.Client) -> None:
    item = client.get(f"{URL}/items/42").json()
    reply = client.post(f"{URL}/search", json={"smiles": item["smiles"], "limit": 1}).json()
    assert reply["query"] == {"smiles": item["smiles"], "id": 42}
    (hit,) = reply["hits"]
    assert (hit["item"]["id"], hit["similarity"]) == (42, 1.0)


def test_search_accepts_a_generation(client: httpx.Client) -> None:
    generation = client.get(URL).json()["generation"]
    reply = client.post(f"{URL}/search", params={"generation": generation}, json={"smiles": "C"})
    assert reply.json()["generation"] == generation
