"""Fingerprints of molecules as packed words, computed by RDKit."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rdkit import DataStructs
from rdkit.Chem import Mol, rdFingerprintGenerator, rdMolDescriptors

from graphkin.protocol.errors import Conflict, InvalidInput, require
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
        return _padded(self._compute(molecule))

    def unpack(self, packed: bytes) -> UInt64:
        """Concatenated `packed` fingerprints as (n, words) uint64."""
        return np.frombuffer(packed, dtype="<u8").reshape(-1, self.recipe.words)


def pack(vectors: Sequence[BitVector]) -> UInt64:
    """RDKit's bit vectors, one or more and of one length, as (n, words) uint64. Raises `InvalidInput` for others."""
    for place, vector in enumerate(vectors):
        if not isinstance(vector, DataStructs.ExplicitBitVect):
            given = f"{type(vector).__name__} at place {place}"
            raise InvalidInput("not an RDKit bit vector", given=given, expected="ExplicitBitVect")
    lengths = sorted({vector.GetNumBits() for vector in vectors})
    require(len(lengths) == 1 and lengths[0] > 0, "set of bit vectors", lengths, "bit vectors of one length")
    packed = b"".join(map(_padded, vectors))
    return np.frombuffer(packed, dtype="<u8").reshape(len(vectors), -1)


def _padded(vector: BitVector) -> bytes:
    """The bits as whole words of 8 bytes, least significant bit first."""
    text = DataStructs.BitVectToBinaryText(vector)
    return text.ljust(-(-len(text) // 8) * 8, b"\0")


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
