"""Features read back as molecules, beside what RDKit reads from the SMILES."""

import pytest
from rdkit import Chem, rdBase

from graphkin.trainer.features.featurize import featurize
from studies.reports.decoding import molecules

KEPT = ["CCO", "Cc1ccccc1C#N", "c1ccsc1", "C1CC1.CC=O", "*CC", "Fc1ccc2ncccc2c1", "CC(=O)Oc1ccccc1C(=O)O"]
SPOILT = ["C[N+](=O)[O-]", "c1cc[nH]c1", "C[N+](C)(C)C"]
"""The encoding says neither charges nor the hydrogen that pyrrole needs."""


def reread(smiles: str) -> Chem.Mol | None:
    (made,) = molecules(featurize([smiles], ""))
    with rdBase.BlockLogs():
        return Chem.MolFromSmiles(Chem.MolToSmiles(made))


@pytest.mark.parametrize("smiles", KEPT)
def test_what_features_say_whole_comes_back(smiles: str) -> None:
    assert Chem.MolToSmiles(reread(smiles)) == Chem.CanonSmiles(smiles)


@pytest.mark.parametrize("smiles", SPOILT)
def test_what_they_do_not_say_is_no_molecule(smiles: str) -> None:
    assert reread(smiles) is None


def test_charges_that_fit_without_are_lost() -> None:
    assert Chem.MolToSmiles(reread("C[NH3+].CC(=O)[O-]")) == Chem.CanonSmiles("CN.CC(=O)O")


def test_features_of_what_is_read_back_are_the_same() -> None:
    """Also those of stereo: as tags, because their meaning hangs on the order of bonds, which no feature says."""
    texts = ["F/C=C/Cl", "C[C@H](N)O", "N[C@@H](C)O", *KEPT, *SPOILT]
    for text, made in zip(texts, molecules(featurize(texts, "")), strict=True):
        said = Chem.MolFromSmiles(text)
        assert [atom.GetAtomicNum() for atom in made.GetAtoms()] == [atom.GetAtomicNum() for atom in said.GetAtoms()]
        assert [atom.GetChiralTag() for atom in made.GetAtoms()] == [atom.GetChiralTag() for atom in said.GetAtoms()]
        for bond in said.GetBonds():
            own = made.GetBondBetweenAtoms(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
            assert (own.GetBondType(), own.GetBondDir()) == (bond.GetBondType(), bond.GetBondDir())
            assert own.GetIsAromatic() == bond.GetIsAromatic()
        assert made.GetNumBonds() == said.GetNumBonds()
