"""Edges of a store, and edges computed by RDKit alone."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from graphkin.store.base import Generation


class Edges(NamedTuple):
    """Edges: pairs (2, E), sorted, the lower id first; similarity (E,)."""

    pairs: NDArray[np.int64]
    similarity: NDArray[np.float64]

    @classmethod
    def from_arrays(
        cls, source: NDArray[np.int64], target: NDArray[np.int64], similarity: NDArray[np.float64]
    ) -> "Edges":
        order = np.lexsort((target, source))
        return cls(np.stack([source, target])[:, order].astype(np.int64), similarity[order])

    def restrict(self, pairs: NDArray[np.int64]) -> "Edges":
        """Return the edges whose pairs are in `pairs`."""
        pair_set = {*map(tuple, pairs.T.tolist())}
        is_member = np.array([tuple(pair) in pair_set for pair in self.pairs.T.tolist()], bool)
        return Edges(self.pairs[:, is_member], self.similarity[is_member])

    def differences(self, expected: "Edges") -> Iterator[str]:
        """Yield edges that are missing, superfluous, or further apart than float32 rounding."""
        own_pairs, expected_pairs = ({*map(tuple, each.pairs.T.tolist())} for each in (self, expected))
        yield from (f"missing {pair}" for pair in expected_pairs - own_pairs)
        yield from (f"superfluous {pair}" for pair in own_pairs - expected_pairs)
        if own_pairs == expected_pairs:
            for position in np.flatnonzero(np.abs(self.similarity - expected.similarity) > 1e-6):
                yield f"{self.pairs[:, position]} has {self.similarity[position]}, not {expected.similarity[position]}"


def stored_edges(generation: Generation) -> Edges:
    blocks = [*generation.edges()]
    return Edges.from_arrays(
        *(np.concatenate([getattr(each, name) for each in blocks]) for name in ("source", "target", "similarity"))
    )


def brute_force(smiles: Iterable[str], threshold: float) -> Edges:
    """Return all pairs with at least this Tanimoto similarity of Morgan fingerprints, radius 2, 2,048 bits."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    bits = [generator.GetFingerprint(Chem.MolFromSmiles(each)) for each in smiles]
    blocks = []
    for source in range(len(bits) - 1):
        similarity = np.array(DataStructs.BulkTanimotoSimilarity(bits[source], bits[source + 1 :]))
        near = np.flatnonzero(similarity >= threshold)
        blocks.append((np.full(len(near), source), source + 1 + near, similarity[near]))
    return Edges.from_arrays(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
