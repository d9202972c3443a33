"""Descriptors of a collection equal RDKit's, from a folder, a server and Neo4j."""

import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from graphkin.library import Collection
from graphkin.protocol.errors import InvalidInput


def test_descriptors_equal_rdkit(collection: Collection, frame: pd.DataFrame) -> None:
    table = collection.descriptors(columns=["activity", "pactivity.nM.activity"]).to_pandas()
    molecules = [Chem.MolFromSmiles(smiles) for smiles in frame["smiles"]]
    assert table["descriptor.qed"].tolist() == [*map(Descriptors.qed, molecules)]
    assert table["descriptor.formal_charge"].tolist() == [*map(Chem.GetFormalCharge, molecules)]
    assert table["activity"].tolist() == frame["activity"].tolist()
    chosen = collection.descriptors(ids=[7, 3]).to_pandas()
    assert chosen["id"].tolist() == [7, 3]
    assert chosen["descriptor.tpsa"].tolist() == [Descriptors.TPSA(molecules[7]), Descriptors.TPSA(molecules[3])]
    conditions = [{"property": "descriptor.tpsa", "min": 60}]
    polar = collection.descriptors(filters=conditions)["id"].to_pylist()
    assert polar == [id for id, molecule in enumerate(molecules) if Descriptors.TPSA(molecule) >= 60]


def test_cliffs_have_the_values_of_a_descriptor(collection: Collection, frame: pd.DataFrame) -> None:
    cliffs = collection.cliffs("descriptor.clogp", min_similarity=0.4, limit=5).to_pandas()
    logp = [Descriptors.MolLogP(Chem.MolFromSmiles(smiles)) for smiles in frame["smiles"]]
    assert cliffs["descriptor.clogp_a"].tolist() == [logp[id] for id in cliffs["a"]]
    assert cliffs["descriptor.clogp_b"].tolist() == [logp[id] for id in cliffs["b"]]
    assert len(cliffs) == 5


def test_new_structure_gets_descriptors(collection: Collection) -> None:
    aspirin = Chem.MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")
    for structure in ("OC(=O)c1ccccc1OC(C)=O", aspirin):
        assert collection.descriptors_of(structure)["descriptor.molecular_weight"] == Descriptors.MolWt(aspirin)
    with pytest.raises(InvalidInput):
        collection.descriptors_of("C1CC")
    with pytest.raises(InvalidInput):
        collection.descriptors_of(None)


def test_ids_and_conditions_exclude_each_other(collection: Collection) -> None:
    with pytest.raises(InvalidInput, match="arguments"):
        collection.descriptors(ids=[1], substructure="c1ccccc1")
