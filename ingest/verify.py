"""Checking a stored hierarchy against RDKit: fingerprints and similarities computed again from the stored SMILES."""

import numpy as np
from rdkit import Chem, DataStructs

from ingest.fingerprints import BitVector, Fingerprinter
from ingest.recipe import Recipe
from store.base import Generation
from store.errors import Conflict
from store.records import Edges, Int32, UInt64

_TOLERANCE = 1e-6  # of a similarity stored as float32


def verify(generation: Generation, sample: int, seed: int = 0) -> list[str]:
    """Everything found wrong: damaged files, and among `sample` random items and edges, what RDKit disagrees with.

    An edge is recomputed as RDKit's own Tanimoto similarity of RDKit's own bit vectors. Empty when all is well.
    """
    problems = generation.check()
    if problems:
        return problems
    if generation.manifest.kind != "molecule":
        raise Conflict("only molecules can be verified", given=generation.manifest.kind, expected="molecule")
    recipe = Recipe.model_validate(generation.manifest.recipe)
    random = np.random.default_rng(seed)
    return [*_wrong_fingerprints(generation, recipe, sample, random), *_wrong_edges(generation, recipe, sample, random)]


def recomputed(generation: Generation, recipe: Recipe, ids: Int32) -> UInt64:
    """(n, W) packed fingerprints of some items, computed from their canonical SMILES."""
    fingerprinter = Fingerprinter(recipe.fingerprint)
    return fingerprinter.unpack(b"".join(fingerprinter.packed(molecule) for molecule in _molecules(generation, ids)))


def _molecules(generation: Generation, ids: Int32) -> list[Chem.Mol]:
    return [Chem.MolFromSmiles(item["smiles"]) for item in generation.items(ids)]


def _wrong_fingerprints(generation: Generation, recipe: Recipe, sample: int, random: np.random.Generator) -> list[str]:
    ids = random.choice(generation.size, min(sample, generation.size), replace=False).astype(np.int32)
    differs = (recomputed(generation, recipe, ids) != generation.fingerprints().words[ids]).any(axis=1)
    return [f"item {id}: its stored fingerprint differs from RDKit's" for id in np.sort(ids[differs])]


def _wrong_edges(generation: Generation, recipe: Recipe, sample: int, random: np.random.Generator) -> list[str]:
    edges = _sampled(generation, sample, random)
    ids, position = np.unique(np.concatenate([edges.source, edges.target]), return_inverse=True)
    fingerprinter = Fingerprinter(recipe.fingerprint)
    bits: list[BitVector] = [fingerprinter.bit_vector(molecule) for molecule in _molecules(generation, ids)]
    problems = []
    for a, b, left, right, stored in zip(
        edges.source, edges.target, *np.split(position, 2), edges.similarity, strict=True
    ):
        similarity = DataStructs.TanimotoSimilarity(bits[left], bits[right])
        if abs(similarity - stored) > _TOLERANCE or similarity < recipe.threshold:
            problems.append(f"edge {a}-{b}: stored similarity {stored}, RDKit computes {similarity:.9f}")
    return problems


def _sampled(generation: Generation, sample: int, random: np.random.Generator) -> Edges:
    """Random edges, each at most once."""
    count = generation.manifest.edges
    chosen = np.sort(random.choice(count, min(sample, count), replace=False))
    picked: list[Edges] = []
    passed = 0
    for block in generation.edges():
        inside = chosen[np.searchsorted(chosen, passed) : np.searchsorted(chosen, passed + len(block))] - passed
        picked.append(Edges(block.source[inside], block.target[inside], block.similarity[inside]))
        passed += len(block)
    return _concatenated(picked)


def _concatenated(parts: list[Edges]) -> Edges:
    none = Edges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))
    return Edges(
        np.concatenate([part.source for part in (none, *parts)]),
        np.concatenate([part.target for part in (none, *parts)]),
        np.concatenate([part.similarity for part in (none, *parts)]),
    )
