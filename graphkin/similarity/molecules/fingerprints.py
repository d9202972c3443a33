"""Packed fingerprints of molecules, computed by RDKit."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rdkit import DataStructs
from rdkit.Chem import Mol, rdFingerprintGenerator, rdMolDescriptors

from graphkin.protocol.errors import Conflict, InvalidInput, require
from graphkin.similarity.molecules.recipe import FingerprintRecipe
from graphkin.store.records import UInt64

BitVector = Any  # rdkit.DataStructs.ExplicitBitVect, for which RDKit has no type information


class Fingerprinter:
    """Computes the fingerprints of molecules according to a recipe.

    Raises:
        Conflict: The fingerprints of the recipe come with the records, so RDKit cannot compute them.
    """

    def __init__(self, recipe: FingerprintRecipe) -> None:
        self.recipe = recipe
        self._compute = _generator(recipe)

    def compute(self, molecule: Mol) -> BitVector:
        """Return the fingerprint as an RDKit bit vector."""
        return self._compute(molecule)

    def compute_packed(self, molecule: Mol) -> bytes:
        """Return the fingerprint as bytes, padded to whole 64-bit words. The least significant bit comes first."""
        return _pad(self._compute(molecule))

    def unpack(self, packed: bytes) -> UInt64:
        """Return n fingerprints from `compute_packed`, concatenated in `packed`, as (n, W) uint64."""
        return np.frombuffer(packed, dtype="<u8").reshape(-1, self.recipe.words)


def pack(vectors: Sequence[BitVector]) -> UInt64:
    """Return n RDKit bit vectors as packed fingerprints, (n, W) uint64.

    Raises:
        InvalidInput: There are no vectors, they differ in length, or one is not an `ExplicitBitVect`.
    """
    for index, vector in enumerate(vectors):
        if not isinstance(vector, DataStructs.ExplicitBitVect):
            raise InvalidInput(
                "an item of the list is not an RDKit bit vector",
                given=f"{type(vector).__name__} at position {index}",
                expected="ExplicitBitVect",
                hint="compute the fingerprints with GetFingerprint of an RDKit fingerprint generator",
            )
    lengths = sorted({vector.GetNumBits() for vector in vectors})
    require(
        len(lengths) == 1 and lengths[0] > 0,
        "list of bit vectors",
        ", ".join(f"{length} bits" for length in lengths) or "an empty list",
        "bit vectors of one length",
        hint="compute all fingerprints with one generator",
    )
    packed = b"".join(map(_pad, vectors))
    return np.frombuffer(packed, dtype="<u8").reshape(len(vectors), -1)


def _pad(vector: BitVector) -> bytes:
    """Return the bits as bytes, padded to whole 64-bit words. The least significant bit comes first."""
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
                "RDKit cannot compute the fingerprints of this collection: they were ingested with the molecules",
                given="a molecule",
                expected="a molecule of the collection, or a fingerprint",
                hint="search with a fingerprint instead",
            )
