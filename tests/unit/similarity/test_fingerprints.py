"""Packed fingerprints equal RDKit's bit vectors."""

from typing import Any

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator

from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.recipe import resolve

MIRRORED = ("N[C@@H](C)C(=O)O", "N[C@H](C)C(=O)O")


def _fingerprinter(**fingerprint: Any) -> Fingerprinter:
    return Fingerprinter(resolve(fingerprint=fingerprint).fingerprint)


@pytest.mark.parametrize(
    ("name", "words"), [("morgan", 32), ("rdkit", 32), ("maccs", 3), ("atompair", 32), ("torsion", 32)]
)
def test_packed_bits_equal_rdkit_with_the_least_significant_first(
    nci_molecules: list[Chem.Mol], generators: Any, packed: Any, name: str, words: int
) -> None:
    fingerprinter, molecules = _fingerprinter(name=name), nci_molecules[:100]
    expected = packed([generators[name](molecule) for molecule in molecules])
    unpacked = fingerprinter.unpack(b"".join(fingerprinter.compute_packed(molecule) for molecule in molecules))
    assert unpacked.dtype == np.uint64
    assert unpacked.shape == (100, words)
    assert np.array_equal(unpacked, expected)
    assert [fingerprinter.compute(molecule) for molecule in molecules] == [generators[name](m) for m in molecules]


@pytest.mark.parametrize("bits", [64, 192, 4096])
@pytest.mark.parametrize("name", ["morgan", "rdkit", "atompair", "torsion"])
def test_fingerprints_have_the_length_of_the_recipe(name: str, bits: int) -> None:
    fingerprinter = _fingerprinter(name=name, bits=bits)
    molecule = Chem.MolFromSmiles("c1ccccc1CCO")
    assert len(fingerprinter.compute_packed(molecule)) == bits // 8
    assert fingerprinter.compute(molecule).GetNumBits() == bits


@pytest.mark.parametrize("radius", [0, 1, 3])
def test_morgan_fingerprints_have_the_radius_of_the_recipe(radius: int) -> None:
    molecule = Chem.MolFromSmiles("c1ccccc1CCO")
    expected = rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=2048).GetFingerprint(molecule)
    assert _fingerprinter(radius=radius).compute(molecule) == expected


@pytest.mark.parametrize("name", ["morgan", "torsion"])
def test_chirality_distinguishes_mirror_images(name: str) -> None:
    left, right = (Chem.MolFromSmiles(smiles) for smiles in MIRRORED)
    plain, chiral = _fingerprinter(name=name), _fingerprinter(name=name, chirality=True)
    assert plain.compute_packed(left) == plain.compute_packed(right)
    assert chiral.compute_packed(left) != chiral.compute_packed(right)


def test_chiral_atom_pairs_equal_rdkit() -> None:
    """Folding to a power of two would lose chirality."""
    generator = rdFingerprintGenerator.GetAtomPairGenerator(fpSize=192, includeChirality=True)
    chiral = _fingerprinter(name="atompair", chirality=True, bits=192)
    for smiles in MIRRORED:
        molecule = Chem.MolFromSmiles(smiles)
        assert chiral.compute(molecule) == generator.GetFingerprint(molecule)


def test_unpacking_no_bytes_gives_no_fingerprints() -> None:
    assert _fingerprinter().unpack(b"").shape == (0, 32)
