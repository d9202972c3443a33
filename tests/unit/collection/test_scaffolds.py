"""Scaffolds, and the tree that they form, equal those of RDKit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rdkit import Chem, RDConfig
from rdkit.Chem.Scaffolds import MurckoScaffold, rdScaffoldNetwork

from graphkin.collection.clusters.scaffolds import scaffold_of
from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.sar.scaffold_counts import count_scaffolds
from graphkin.collection.sar.scaffolds import ScaffoldTree, parent_of, read_scaffold
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.protocol.requests import QueryFields
from graphkin.protocol.scaffold_tree import ScaffoldTreeFields
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
    """Return the parent among the other scaffolds in RDKit's scaffold network of a connected scaffold."""
    parameters = rdScaffoldNetwork.ScaffoldNetworkParams()
    for name in ("includeGenericScaffolds", "includeScaffoldsWithAttachments", "keepOnlyFirstFragment"):
        setattr(parameters, name, False)
    network = rdScaffoldNetwork.CreateScaffoldNetwork([Chem.MolFromSmiles(scaffold)], parameters)
    # RDKit keeps the ends of cut linkers.
    smaller = {MurckoScaffold.MurckoScaffoldSmiles(node) for node in network.nodes if node} - {scaffold, ""}

    def size(smiles: str) -> tuple[int, ...]:
        molecule = Chem.MolFromSmiles(smiles)
        linkers = len(molecule.GetSubstructMatches(Chem.MolFromSmarts("[!D1]!@[!D1]"), maxMatches=10_000))
        elements = [atom.GetSymbol() for atom in molecule.GetAtoms()]
        return molecule.GetRingInfo().NumRings(), -linkers, len(elements), len(elements) - elements.count("C")

    largest = max(map(size, smaller), default=None)
    return min((each for each in smaller if size(each) == largest), default=None)


@pytest.mark.parametrize("smiles", [*DRUGS[:6], *NCI[:4000:40]])
def test_parent_is_the_smaller_scaffold_of_the_network_with_the_most_rings_and_shortest_linkers(smiles: str) -> None:
    scaffold: str | None = scaffold_of(Chem.MolFromSmiles(smiles))
    while scaffold:
        if "." not in scaffold:
            assert parent_of(scaffold) == network_parent(scaffold)
        scaffold = parent_of(scaffold)


def test_parent_of_unconnected_scaffolds_is_the_largest_part() -> None:
    assert parent_of(scaffold_of(Chem.MolFromSmiles("c1ccccc1.Cc1ccncc1CC1CC1"))) == "c1cncc(CC2CC2)c1"


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
    assert (
        read_scaffold("C1C[C@H]2CC[C@@H]1C2")
        == scaffold_of(Chem.MolFromSmiles("C1C[C@H]2CC[C@@H]1C2"))
        == "C1CC2CCC1C2"
    )


def test_tree_with_an_index_out_of_range_is_invalid() -> None:
    tree = ScaffoldTree.from_parents(pa.array(["c1ccccc1", ""]), {"c1ccccc1": None, "": None})
    assert tree.is_tree_of(2)
    assert not tree.is_tree_of(3)
    assert not tree._replace(parent=tree.parent + 5).is_tree_of(2)
    assert not tree._replace(starts=tree.starts + 1).is_tree_of(2)


def branches(molecules: OpenCollection, ids: list[int]) -> dict[str, list[int]]:
    """Return the molecules in the branch of each scaffold, from the parents alone."""
    branches: dict[str, list[int]] = {}
    smiles = molecules.items(["smiles"])["smiles"].to_pylist()
    for id in ids:
        scaffold: str | None = scaffold_of(Chem.MolFromSmiles(smiles[id]))
        while scaffold is not None:
            branches.setdefault(scaffold, []).append(id)
            scaffold = parent_of(scaffold)
    return branches


def tree_rows(molecules: OpenCollection, **request: object) -> list[dict[str, Any]]:
    return molecules.scaffold_tree(ScaffoldTreeFields.model_validate(request)).table().to_pylist()


@pytest.mark.parametrize("series", [{}, {"ids": [*range(3, 120, 2)]}, {"substructure": "c1ccncc1"}, {"scaffold": ""}])
def test_tree_counts_the_molecules_of_a_series(
    molecules: OpenCollection, scaffolds: dict[str, list[int]], series: dict[str, Any]
) -> None:
    ids = molecules.query(QueryFields.model_validate(series)).ids.tolist()
    expected = branches(molecules, ids)
    rows = tree_rows(molecules, **series, property="molwt")
    assert {row["scaffold"]: row["branch_items"] for row in rows} == {each: len(expected[each]) for each in expected}
    molwt = np.array(molecules.items(["molwt"])["molwt"].to_pylist())
    for row in rows:
        own = sorted({*scaffolds.get(row["scaffold"], [])} & {*ids})
        assert row["items"] == row["values"] == len(own)
        assert row["parent"] == parent_of(row["scaffold"])
        assert row["children"] == len([each for each in rows if each["parent"] == row["scaffold"]])
        for prefix, members in (("", own), ("branch_", expected[row["scaffold"]])):
            values = molwt[members]
            summary = [row[f"{prefix}{name}"] for name in ("min", "max", "mean")]
            assert summary == ([values.min(), values.max(), pytest.approx(values.mean())] if members else [None] * 3)


def test_each_scaffold_is_followed_by_its_branch_with_the_largest_child_first(molecules: OpenCollection) -> None:
    rows = tree_rows(molecules)

    def listed(parent: str | None, depth: int) -> list[tuple[str, int]]:
        children = [row for row in rows if row["parent"] == parent]
        children.sort(key=lambda row: (-row["branch_items"], row["scaffold"]))
        lists = ([(row["scaffold"], depth), *listed(row["scaffold"], depth + 1)] for row in children)
        return [each for part in lists for each in part]

    assert [(row["scaffold"], row["depth"]) for row in rows] == listed(None, 0)
    assert max(row["depth"] for row in rows) > 1


def test_tree_lists_the_requested_part(molecules: OpenCollection) -> None:
    rows = tree_rows(molecules)
    assert tree_rows(molecules, levels=1) == [row for row in rows if row["parent"] is None]
    children = [row for row in rows if row["parent"] == "c1ccccc1"]
    assert tree_rows(molecules, levels=1, parent="C1=CC=CC=C1") == children
    assert len(children) > 1
    below = tree_rows(molecules, parent="c1ccccc1")
    start = rows.index(children[0])
    assert below == rows[start : start + len(below)]
    assert below[-1]["depth"] > 0 == rows[start + len(below)]["depth"]
    large = tree_rows(molecules, min_count=3)
    assert [row["scaffold"] for row in large] == [row["scaffold"] for row in rows if row["branch_items"] >= 3]
    benzene = next(row for row in large if row["scaffold"] == "c1ccccc1")
    assert benzene["children"] == len([row for row in children if row["branch_items"] >= 3])
    assert tree_rows(molecules, min_count=10**6) == tree_rows(molecules, ids=[]) == []
    assert tree_rows(molecules, ids=[], parent="c1ccccc1") == []


def test_tree_below_a_scaffold_that_no_molecule_has_is_refused(molecules: OpenCollection) -> None:
    with pytest.raises(NotFound) as error:
        tree_rows(molecules, parent="C1CCCCCCCCCCCCCCC1")
    assert error.value.given == "C1CCCCCCCCCCCCCCC1"


def test_missing_values_are_left_out_of_the_ranges() -> None:
    tree = ScaffoldTree.from_parents(pa.array(["b", "b", "a", "c"]), {"a": None, "b": "a", "c": "b"})
    values = np.array([2.0, np.nan, np.nan, 4.0])
    rows = count_scaffolds(tree, np.arange(4, dtype=np.int32), values).table().to_pylist()
    assert [row["scaffold"] for row in rows] == ["a", "b", "c"]
    assert [(row["values"], row["mean"]) for row in rows] == [(0, None), (1, 2.0), (1, 4.0)]
    assert [(row["branch_values"], row["branch_mean"]) for row in rows] == [(2, 3.0), (2, 3.0), (1, 4.0)]
    assert [(row["branch_min"], row["branch_max"]) for row in rows] == [(2.0, 4.0), (2.0, 4.0), (4.0, 4.0)]
