"""Morgan fingerprints of labeled molecules: the clusters that a split keeps whole."""

import os
from collections.abc import Iterator, Sequence

import numpy as np
from rdkit import Chem, rdBase

from graphkin.runtime.workers.chunks import map_chunks
from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.records import Int32, UInt64

_RECIPE = resolve()
_BLOCK = 4096  # molecules handed to a process at a time


def compute_fingerprints(smiles: Sequence[str]) -> UInt64:
    """Return the packed Morgan fingerprints (radius 2, 2048 bits) of molecules, (N, 32) uint64.

    These are the default fingerprints of `graphkin ingest molecules`. RDKit must be able to read all SMILES.
    """
    blocks = [smiles[start : start + _BLOCK] for start in range(0, len(smiles), _BLOCK)]
    workers = min(os.cpu_count() or 1, len(blocks))
    parts: Iterator[bytes] = (
        map_chunks(_fingerprint_block, blocks, workers) if workers > 1 else map(_fingerprint_block, blocks)
    )
    return np.frombuffer(b"".join(parts), "<u8").reshape(len(smiles), _RECIPE.fingerprint.words)


def _fingerprint_block(smiles: Sequence[str]) -> bytes:
    fingerprinter = Fingerprinter(_RECIPE.fingerprint)
    with rdBase.BlockLogs():
        return b"".join(fingerprinter.compute_packed(Chem.MolFromSmiles(text)) for text in smiles)


def cluster_molecules(smiles: Sequence[str]) -> Int32:
    """Return the Taylor-Butina cluster of each molecule, (N,).

    Neighbors have fingerprints with a Tanimoto similarity of 0.4 or more, the default threshold of a collection. RDKit
    must be able to read all SMILES.
    """
    from graphkin.collection.clusters.butina import clusters_from_pairs
    from graphkin.similarity.join import similar_pairs
    from graphkin.store.identity import content_digests, tie_ranks

    words = compute_fingerprints(smiles)
    pairs = similar_pairs(words, _RECIPE.threshold, os.cpu_count() or 1)
    with rdBase.BlockLogs():
        canonical = [Chem.MolToSmiles(Chem.MolFromSmiles(text)) for text in smiles]
    return clusters_from_pairs(pairs, tie_ranks(content_digests(canonical, _RECIPE.tie_seed))).label
