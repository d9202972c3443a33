"""The expected contents of a store, computed by RDKit alone: molecules, and the edges of any collection of them."""

from collections.abc import Iterator, Sequence

import numpy as np
from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import rdFingerprintGenerator

from benchmarks.data import molecules
from graphkin.protocol.errors import GraphkinError
from graphkin.store.base import Generation, Store

THRESHOLD = 0.3
_CLOSE = 1e-6  # similarities are stored as float32


class Truth:
    """`count` different molecules without salts. `lines` has a line for each, with a unique name."""

    def __init__(self, count: int) -> None:
        RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
        by_smiles: dict[str, Chem.Mol] = {}
        for line in molecules(2 * count)[1]:
            molecule = Chem.MolFromSmiles(line.split()[0])
            if molecule is not None and "." not in (smiles := Chem.MolToSmiles(molecule)):
                by_smiles.setdefault(smiles, molecule)
            if len(by_smiles) == count:
                break
        self.smiles = [*by_smiles]
        self.lines = [f"{smiles} m{number}\n" for number, smiles in enumerate(by_smiles)]
        generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
        bits = [generator.GetFingerprint(molecule) for molecule in by_smiles.values()]
        self._similarity = np.array([DataStructs.BulkTanimotoSimilarity(each, bits) for each in bits])

    def neighbors(self, members: Sequence[int], item: int) -> dict[int, float]:
        """Return similarity by id of the neighbors of an item, in a collection of `members` in this order."""
        row = self._similarity[members[item]][np.asarray(members)]
        return {int(id): float(row[id]) for id in np.flatnonzero(row >= THRESHOLD) if id != item}

    def differing(self, generation: Generation, members: Sequence[int]) -> Iterator[str]:
        """Yield the differences between a generation and the expected collection of `members`."""
        if [*generation.structures()] != [self.smiles[each] for each in members]:
            yield "its molecules are others"
            return
        similarity = self._similarity[np.ix_(members, members)]
        actual = np.zeros_like(similarity)
        for block in generation.edges():
            actual[block.source, block.target] = block.similarity
        actual = np.maximum(actual, actual.T)
        expected = np.where(similarity >= THRESHOLD, similarity, 0)
        np.fill_diagonal(expected, 0)
        mismatches = np.argwhere(np.abs(actual - expected) > _CLOSE)
        yield from (f"{a} and {b} are {actual[a, b]:.4f} similar, not {expected[a, b]:.4f}" for a, b in mismatches[:3])


class Ledger:
    """The acknowledged writes: each published generation with its molecules."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.published: dict[str, dict[str, list[int]]] = {}
        self._all_members: dict[str, list[int]] = {}

    def publish(self, collection: str, generation: str, members: Sequence[int]) -> None:
        """Record a generation as the collection's current one."""
        generations = self.published.setdefault(collection, {})
        generations.pop(generation, None)
        generations[generation] = self._all_members[generation] = [*members]

    def prune(self, keep: int) -> None:
        """Forget all but the `keep` newest generations of each collection, which were deleted."""
        for collection, generations in self.published.items():
            self.published[collection] = dict([*generations.items()][-keep:])

    def members(self, collection: str) -> list[int]:
        """Return the molecules of the collection's current generation."""
        return [*self.published[collection].values()][-1]

    def find_members(self, generation: str) -> list[int] | None:
        """Return the molecules of any generation that was ever published; None if it was not."""
        return self._all_members.get(generation)

    def check(self, store: Store) -> tuple[list[str], list[str]]:
        """Return the lost and the wrong data among everything that was acknowledged."""
        lost: list[str] = []
        wrong: list[str] = []
        for collection, generations in self.published.items():
            for generation, members in generations.items():
                label = f"{collection} {generation[:12]}"
                try:
                    with store.open(collection, generation) as opened:
                        lost += [f"{label}: {problem}" for problem in opened.check()]
                        wrong += [f"{label}: {each}" for each in self.truth.differing(opened, members)]
                except GraphkinError as error:
                    lost.append(f"{label}: {error}")
            current, newest = store.collection(collection).current, [*generations][-1]
            if current != newest:
                lost.append(f"{collection} is at {current[:12]}, not at {newest[:12]}, which was published last")
        return lost, wrong
