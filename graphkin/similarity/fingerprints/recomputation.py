"""Fingerprints read from the stored text, and their similarities, recomputed by RDKit."""

import numpy as np
from rdkit import DataStructs

from graphkin.similarity.packed import word_count
from graphkin.store.base import Generation
from graphkin.store.records import Edges, Float64, Int32, UInt64


def recompute_words(generation: Generation, ids: Int32) -> UInt64:
    """Return the packed fingerprints of the items `ids`, (n, W) uint64, which RDKit reads from the stored text."""
    vectors = [DataStructs.CreateFromFPSText(text) for text in generation.structures(ids)]
    width = 8 * word_count(generation.manifest.recipe["bits"])
    packed = b"".join(DataStructs.BitVectToBinaryText(bits).ljust(width, b"\0") for bits in vectors)
    return np.frombuffer(packed, "<u8").reshape(len(ids), -1)


def recompute_similarities(generation: Generation, edges: Edges) -> Float64:
    """Return the Tanimoto similarities of stored edges, (E,) float64, computed by RDKit."""
    ids, position = np.unique(np.concatenate([edges.source, edges.target]), return_inverse=True)
    bits = [DataStructs.CreateFromFPSText(text) for text in generation.structures(ids)]
    pairs = zip(*np.split(position, 2), strict=True)
    return np.array([DataStructs.TanimotoSimilarity(bits[a], bits[b]) for a, b in pairs], np.float64)
