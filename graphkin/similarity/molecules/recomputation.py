"""Fingerprints and similarities of stored molecules, recomputed by RDKit from the canonical SMILES."""

import numpy as np
from rdkit import Chem, DataStructs

from graphkin.similarity.molecules.fingerprints import BitVector, Fingerprinter
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.store.base import Generation
from graphkin.store.records import Edges, Float64, Int32, UInt64


def recompute_fingerprints(generation: Generation, recipe: MoleculeRecipe, ids: Int32) -> UInt64:
    """Return the packed fingerprints of the items `ids`, (n, W) uint64, computed from their SMILES."""
    fingerprinter = Fingerprinter(recipe.fingerprint)
    return fingerprinter.unpack(
        b"".join(fingerprinter.compute_packed(molecule) for molecule in _molecules(generation, ids))
    )


def recompute_similarities(generation: Generation, recipe: MoleculeRecipe, edges: Edges) -> Float64:
    """Return the Tanimoto similarities of stored edges, (E,) float64, computed by RDKit.

    RDKit computes the fingerprints again, too, unless they came with the records.
    """
    ids, position = np.unique(np.concatenate([edges.source, edges.target]), return_inverse=True)
    bits = (
        _stored_bits(generation, ids)
        if recipe.fingerprint.is_precomputed
        else _recomputed_bits(generation, recipe, ids)
    )
    left, right = np.split(position, 2)
    pairs = zip(left, right, strict=True)
    return np.array([DataStructs.TanimotoSimilarity(bits[a], bits[b]) for a, b in pairs], np.float64)


def _recomputed_bits(generation: Generation, recipe: MoleculeRecipe, ids: Int32) -> list[BitVector]:
    fingerprinter = Fingerprinter(recipe.fingerprint)
    return [fingerprinter.compute(molecule) for molecule in _molecules(generation, ids)]


def _stored_bits(generation: Generation, ids: Int32) -> list[BitVector]:
    return [DataStructs.CreateFromFPSText(bits.tobytes().hex()) for bits in generation.fingerprints().words[ids]]


def _molecules(generation: Generation, ids: Int32) -> list[Chem.Mol]:
    return [Chem.MolFromSmiles(smiles) for smiles in generation.structures(ids)]
