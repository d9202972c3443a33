"""The standardization step "tautomer", compared with RDKit."""

import pytest
from rdkit import Chem
from rdkit.Chem.MolStandardize import rdMolStandardize

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.query import read_molecule
from graphkin.similarity.molecules.recipe import resolve

RECIPE = resolve(standardise=["tautomer"])
FORMS = [
    ("Oc1ccccn1", "O=c1cccc[nH]1"),
    ("CC(O)=CC(C)=O", "CC(=O)CC(C)=O"),
    ("CC(=N)O", "CC(N)=O"),
    ("Cc1c[nH]cn1", "Cc1cnc[nH]1"),
    ("O=C1CC=CC=C1", "Oc1ccccc1"),
    ("Nc1ncnc2[nH]cnc12", "N=c1[nH]cnc2[nH]cnc12"),
    ("CC(C)C(=O)O", "CC(C)=C(O)O"),
]
"""Pairs of tautomers."""


def _canonical(text: str) -> str:
    return read_molecule(RECIPE, text, "smiles").text


def test_canonical_tautomer_equals_rdkit(nci_smiles: list[str]) -> None:
    enumerator = rdMolStandardize.TautomerEnumerator()
    changed = 0
    for smiles in nci_smiles[:150]:
        canonical = Chem.MolToSmiles(Chem.MolFromSmiles(smiles))
        if "@" in canonical or "/" in canonical:
            continue
        tautomer = Chem.MolToSmiles(enumerator.Canonicalize(Chem.MolFromSmiles(canonical)))
        assert _canonical(smiles) == tautomer
        assert _canonical(tautomer) == tautomer
        changed += tautomer != canonical
    assert changed


@pytest.mark.parametrize(("form", "other"), FORMS)
def test_tautomers_have_the_same_text_and_fingerprint(form: str, other: str) -> None:
    first, second = (read_molecule(RECIPE, text, "smiles") for text in (form, other))
    assert read_molecule(resolve(), form, "smiles").text != read_molecule(resolve(), other, "smiles").text
    assert first.text == second.text
    assert first.arrays[0].tolist() == second.arrays[0].tolist()


@pytest.mark.parametrize("form", [form for form, _ in FORMS])
def test_order_of_atoms_does_not_matter(form: str) -> None:
    molecule = Chem.MolFromSmiles(form)
    for start in range(molecule.GetNumAtoms()):
        assert _canonical(Chem.MolToSmiles(molecule, rootedAtAtom=start, canonical=False)) == _canonical(form)


@pytest.mark.parametrize("smiles", ["CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O", "N[C@@H](C)C(=O)O", "C/C=C/C(C)=O"])
def test_configurations_of_the_canonical_tautomer_are_kept(smiles: str) -> None:
    """RDKit's default settings drop them, which the second assertion shows."""
    assert _canonical(smiles) == Chem.MolToSmiles(Chem.MolFromSmiles(smiles))
    flat = Chem.MolToSmiles(rdMolStandardize.TautomerEnumerator().Canonicalize(Chem.MolFromSmiles(smiles)))
    assert flat == Chem.MolToSmiles(Chem.MolFromSmiles(smiles), isomericSmiles=False)


def test_steps_run_in_their_order() -> None:
    recipe = resolve(standardise=["largest_fragment", "uncharge", "tautomer"])
    assert read_molecule(recipe, "[Na+].[O-]c1ccccn1", "smiles").text == "O=c1cccc[nH]1"


def test_stereo_groups_of_kept_centers_are_kept() -> None:
    assert _canonical("C=C(O)C[C@H](F)Cl |&1:4|") == read_molecule(resolve(), "CC(=O)C[C@H](F)Cl |&1:4|", "smiles").text


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("Nc1nc(N)c2nc(CNc3ccc(C(=O)NC(CCC(=O)O)C(=O)O)cc3)cnc2n1", "too many tautomers to choose one"),
        ("C" * 101, "101 atoms, more than 100"),
        ("O=C1C=CC=C[C@H]1F |&1:6|", "its canonical tautomer loses a center of a stereo group"),
    ],
)
def test_molecules_without_a_canonical_tautomer_are_rejected(smiles: str, reason: str) -> None:
    read_molecule(resolve(), smiles, "smiles")
    with pytest.raises(InvalidInput, match=reason):
        _canonical(smiles)
