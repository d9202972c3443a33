"""Fingerprints of molecules as packed words, computed by RDKit."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rdkit import DataStructs
from rdkit.Chem import Mol, rdFingerprintGenerator, rdMolDescriptors

from graphkin.protocol.errors import Conflict
from graphkin.similarity.molecules.recipe import FingerprintRecipe
from graphkin.store.records import UInt64

BitVector = Any  # rdkit.DataStructs.ExplicitBitVect, which ships no type information


class Fingerprinter:
    """Computes one recipe's fingerprint, as RDKit's bit vector or packed. Raises `Conflict` for one that is given."""

    def __init__(self, recipe: FingerprintRecipe) -> None:
        self.recipe = recipe
        self._compute = _generator(recipe)

    def bit_vector(self, molecule: Mol) -> BitVector:
        return self._compute(molecule)

    def packed(self, molecule: Mol) -> bytes:
        """The bits as 8 * words bytes, least significant bit first."""
        return DataStructs.BitVectToBinaryText(self._compute(molecule)).ljust(8 * self.recipe.words, b"\0")

    def unpack(self, packed: bytes) -> UInt64:
        """Concatenated `packed` fingerprints as (n, words) uint64."""
        return np.frombuffer(packed, dtype="<u8").reshape(-1, self.recipe.words)


def _generator(recipe: FingerprintRecipe) -> Callable[[Mol], BitVector]:
    match recipe.name:
        case "morgan":
            assert recipe.radius is not None
            return rdFingerprintGenerator.GetMorganGenerator(
                radius=recipe.radius, fpSize=recipe.bits, includeChirality=recipe.chirality
            ).GetFingerprint
        case "rdkit":
            return rdFingerprintGenerator.GetRDKitFPGenerator(fpSize=recipe.bits).GetFingerprint
        case "atompair":
            return rdFingerprintGenerator.GetAtomPairGenerator(
                fpSize=recipe.bits, includeChirality=recipe.chirality
            ).GetFingerprint
        case "torsion":
            return rdFingerprintGenerator.GetTopologicalTorsionGenerator(
                fpSize=recipe.bits, includeChirality=recipe.chirality
            ).GetFingerprint
        case "maccs":
            return rdMolDescriptors.GetMACCSKeysFingerprint
        case "given":
            raise Conflict(
                "the fingerprints of this collection came with its molecules: RDKit cannot compute them",
                given="a molecule to describe",
                expected="a molecule of the collection, or a fingerprint",
            )
