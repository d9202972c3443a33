"""Scaffolds, and the tree that they form, equal those of RDKit."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from rdkit import Chem, RDConfig
from rdkit.Chem.Scaffolds import MurckoScaffold, rdScaffoldNetwork

from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.sar.scaffolds import ScaffoldTree, parent_of, read_scaffold, scaffold_of
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.requests import QueryFields
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

NCI = [line.split()[0] for line in (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text().splitlines()]
DRUGS = [
    "CC(=O)Nc1ccc(-c2cc(=O)n(C)c(Cc3ccncc3)c2)cc1",  # a lactam between two rings
    "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21",
    "OC(=O)CCC(c1ccccc1)(c1ccncc1)c1ccc2occc2c1",  # a linker of three rings
    "C(C=CCOc1ccccc1)=C1c2ccccc2CCc2ccccc21",  # an exocyclic double bond
    "C1CCC2(CC1)CCN(c1ccccc1)CC2",
    "O=C(Cc1ccccc1)N[C@@H](Cc1c[nH]c2ccccc12)C(=O)N1CCC[C@H]1C(=O)NCc1ccc[n+](Cc2ccco2)c1",
    "c1ccccc1.Cc1ccncc1CC1CC1",
    "CCO",
]


def network_parent(scaffold: str) -> str | None:
    """Return the largest other scaffold in RDKit's scaffold network of a connected scaffold."""
    parameters = rdScaffoldNetwork.ScaffoldNetworkParams()
    for name in ("includeGenericScaffolds", "includeScaffoldsWithAttachments", "keepOnlyFirstFragment"):
        setattr(parameters, name, False)
    network = rdScaffoldNetwork.CreateScaffoldNetwork([Chem.MolFromSmiles(scaffold)], parameters)
    # RDKit keeps the ends of cut linkers.
    smaller = {MurckoScaffold.MurckoScaffoldSmiles(node) for node in network.nodes if node} - {scaffold, ""}

    def size(smiles: str) -> tuple[int, int, int]:
        molecule = Chem.MolFromSmiles(smiles)
        elements = [atom.GetSymbol() for atom in molecule.GetAtoms()]
        return molecule.GetRingInfo().NumRings(), len(elements), len(elements) - elements.count("C")

    largest = max(map(size, smaller), default=None)
    return min((each for each in smaller if size(each) == largest), default=None)


@pytest.mark.parametrize("smiles", [*DRUGS[:6], *NCI[:4000:40]])
def test_parent_is_the_largest_smaller_scaffold_of_the_network(smiles: str) -> None:
    scaffold: str | None = scaffold_of(smiles)
    while scaffold:
        if "." not in scaffold:
            assert parent_of(scaffold) == network_parent(scaffold)
        scaffold = parent_of(scaffold)


def test_parent_of_unconnected_scaffolds_is_the_largest_part() -> None:
    assert parent_of(scaffold_of("c1ccccc1.Cc1ccncc1CC1CC1")) == "c1cncc(CC2CC2)c1"


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenCollection]:
    folder = tmp_path_factory.mktemp("molecules")
    (folder / "molecules.smi").write_text("\n".join([*NCI[:150], *DRUGS]))
    with open_store(folder / "store", create=True) as store:
        ingest(store, "m", [str(folder / "molecules.smi")], resolve(threshold=0.3), IngestOptions(workers=1))
        with store.open("m") as generation:
            yield OpenCollection(generation)


@pytest.fixture(scope="module")
def scaffolds(molecules: OpenCollection) -> dict[str, list[int]]:
    """Return the molecules of each scaffold, by RDKit."""
    scaffolds: dict[str, list[int]] = {}
    for id, smiles in enumerate(molecules.items(["smiles"])["smiles"].to_pylist()):
        scaffolds.setdefault(MurckoScaffold.MurckoScaffoldSmiles(smiles), []).append(id)
    return scaffolds


def query(molecules: OpenCollection, scaffold: str) -> list[int]:
    return molecules.query(QueryFields(scaffold=scaffold)).ids.tolist()


def test_query_by_scaffold_returns_the_molecules_with_this_scaffold(
    molecules: OpenCollection, scaffolds: dict[str, list[int]]
) -> None:
    assert len(scaffolds) > 30
    assert {scaffold: query(molecules, scaffold) for scaffold in scaffolds} == scaffolds


def test_query_by_scaffold_accepts_any_smiles_of_it(molecules: OpenCollection, scaffolds: dict[str, list[int]]) -> None:
    assert query(molecules, "C1=CC=CC=C1") == scaffolds["c1ccccc1"]
    assert query(molecules, " ") == scaffolds[""]


def test_query_by_scaffold_that_no_molecule_has_returns_nothing(molecules: OpenCollection) -> None:
    assert query(molecules, "C1CCCCCCCCCCCCCCC1") == []


@pytest.mark.parametrize(
    ("smiles", "problem", "hint"),
    [
        ("Cc1ccccc1", "outside its Bemis-Murcko scaffold", "its scaffold is c1ccccc1"),
        ("CCO", "outside its Bemis-Murcko scaffold", "empty"),
        ("c1cc", "not a molecule", "SMILES"),
        ("[nH", "not a molecule", "SMILES"),
    ],
)
def test_query_by_a_text_that_is_no_scaffold_is_refused(
    molecules: OpenCollection, smiles: str, problem: str, hint: str
) -> None:
    with pytest.raises(InvalidInput, match=problem) as error:
        query(molecules, smiles)
    assert error.value.given == smiles
    assert hint in str(error.value.hint)


def test_scaffold_of_a_user_loses_its_stereo() -> None:
    assert read_scaffold("C1C[C@H]2CC[C@@H]1C2") == scaffold_of("C1C[C@H]2CC[C@@H]1C2") == "C1CC2CCC1C2"


def test_tree_with_an_index_out_of_range_is_invalid() -> None:
    tree = ScaffoldTree.from_parents(pa.array(["c1ccccc1", ""]), {"c1ccccc1": None, "": None})
    assert tree.is_tree_of(2)
    assert not tree.is_tree_of(3)
    assert not tree._replace(parent=tree.parent + 5).is_tree_of(2)
    assert not tree._replace(starts=tree.starts + 1).is_tree_of(2)
