"""Molecules decoded from features, compared with those that RDKit reads from the SMILES."""

import pytest
from rdkit import Chem, rdBase

from graphkin.trainer.features.featurize import featurize
from studies.reports.decoding import molecules

COMPLETE = ["CCO", "Cc1ccccc1C#N", "c1ccsc1", "C1CC1.CC=O", "*CC", "Fc1ccc2ncccc2c1", "CC(=O)Oc1ccccc1C(=O)O"]
INCOMPLETE = ["C[N+](=O)[O-]", "c1cc[nH]c1", "C[N+](C)(C)C"]
"""The encoding holds neither charges nor the hydrogen that pyrrole needs."""


def reread(smiles: str) -> Chem.Mol | None:
    (molecule,) = molecules(featurize([smiles], ""))
    with rdBase.BlockLogs():
        return Chem.MolFromSmiles(Chem.MolToSmiles(molecule))


@pytest.mark.parametrize("smiles", COMPLETE)
def test_molecules_with_complete_features_round_trip(smiles: str) -> None:
    assert Chem.MolToSmiles(reread(smiles)) == Chem.CanonSmiles(smiles)


@pytest.mark.parametrize("smiles", INCOMPLETE)
def test_molecules_with_incomplete_features_are_unreadable(smiles: str) -> None:
    assert reread(smiles) is None


def test_optional_charges_are_lost() -> None:
    assert Chem.MolToSmiles(reread("C[NH3+].CC(=O)[O-]")) == Chem.CanonSmiles("CN.CC(=O)O")


def test_decoded_molecules_have_the_same_features() -> None:
    """Stereo features are compared as tags: their meaning depends on the order of bonds, which is not a feature."""
    texts = ["F/C=C/Cl", "C[C@H](N)O", "N[C@@H](C)O", *COMPLETE, *INCOMPLETE]
    for text, decoded in zip(texts, molecules(featurize(texts, "")), strict=True):
        expected = Chem.MolFromSmiles(text)
        assert [atom.GetAtomicNum() for atom in decoded.GetAtoms()] == [
            atom.GetAtomicNum() for atom in expected.GetAtoms()
        ]
        assert [atom.GetChiralTag() for atom in decoded.GetAtoms()] == [
            atom.GetChiralTag() for atom in expected.GetAtoms()
        ]
        for bond in expected.GetBonds():
            decoded_bond = decoded.GetBondBetweenAtoms(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
            assert (decoded_bond.GetBondType(), decoded_bond.GetBondDir()) == (bond.GetBondType(), bond.GetBondDir())
            assert decoded_bond.GetIsAromatic() == bond.GetIsAromatic()
        assert decoded.GetNumBonds() == expected.GetNumBonds()
