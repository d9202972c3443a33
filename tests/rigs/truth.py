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
        kept: dict[str, Chem.Mol] = {}
        for line in molecules(2 * count)[1]:
            molecule = Chem.MolFromSmiles(line.split()[0])
            if molecule is not None and "." not in (smiles := Chem.MolToSmiles(molecule)):
                kept.setdefault(smiles, molecule)
            if len(kept) == count:
                break
        self.smiles = [*kept]
        self.lines = [f"{smiles} m{number}\n" for number, smiles in enumerate(kept)]
        generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
        bits = [generator.GetFingerprint(molecule) for molecule in kept.values()]
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
        among = self._similarity[np.ix_(members, members)]
        found = np.zeros_like(among)
        for block in generation.edges():
            found[block.source, block.target] = block.similarity
        found = np.maximum(found, found.T)
        right = np.where(among >= THRESHOLD, among, 0)
        np.fill_diagonal(right, 0)
        wrong = np.argwhere(np.abs(found - right) > _CLOSE)
        yield from (f"{a} and {b} are {found[a, b]:.4f} similar, not {right[a, b]:.4f}" for a, b in wrong[:3])


class Ledger:
    """The acknowledged writes: each published generation with its molecules."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.published: dict[str, dict[str, list[int]]] = {}
        self._ever: dict[str, list[int]] = {}

    def publish(self, collection: str, generation: str, members: Sequence[int]) -> None:
        """Record a generation as the collection's current one."""
        there = self.published.setdefault(collection, {})
        there.pop(generation, None)
        there[generation] = self._ever[generation] = [*members]

    def prune(self, keep: int) -> None:
        """Forget all but the `keep` newest generations of each collection, which were deleted."""
        for collection, there in self.published.items():
            self.published[collection] = dict([*there.items()][-keep:])

    def members(self, collection: str) -> list[int]:
        """Return the molecules of the collection's current generation."""
        return [*self.published[collection].values()][-1]

    def told(self, generation: str) -> list[int] | None:
        """Return the molecules of any generation that was ever published; None if it was not."""
        return self._ever.get(generation)

    def check(self, store: Store) -> tuple[list[str], list[str]]:
        """Return the lost and the wrong data among everything that was acknowledged."""
        lost: list[str] = []
        wrong: list[str] = []
        for collection, there in self.published.items():
            for generation, members in there.items():
                where = f"{collection} {generation[:12]}"
                try:
                    with store.open(collection, generation) as opened:
                        lost += [f"{where}: {problem}" for problem in opened.check()]
                        wrong += [f"{where}: {each}" for each in self.truth.differing(opened, members)]
                except GraphkinError as error:
                    lost.append(f"{where}: {error}")
            current, newest = store.collection(collection).current, [*there][-1]
            if current != newest:
                lost.append(f"{collection} is at {current[:12]}, not at {newest[:12]}, which was published last")
        return lost, wrong
