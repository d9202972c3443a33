"""Reference values that RDKit computes, generations built from them, and fixtures of both pipelines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import Descriptors, rdFingerprintGenerator, rdMolDescriptors

from graphkin.ingest.progress import Progress
from graphkin.protocol.manifest import Counts, Provenance
from graphkin.similarity.molecules.recipe import MoleculeRecipe, resolve
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from graphkin.store.columns import ITEM_SCHEMA
from graphkin.store.records import Edges

GENERATORS: dict[str, Callable[[Chem.Mol], Any]] = {
    "morgan": rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint,
    "rdkit": rdFingerprintGenerator.GetRDKitFPGenerator().GetFingerprint,
    "maccs": rdMolDescriptors.GetMACCSKeysFingerprint,
    "atompair": rdFingerprintGenerator.GetAtomPairGenerator().GetFingerprint,
    "torsion": rdFingerprintGenerator.GetTopologicalTorsionGenerator().GetFingerprint,
}


def _packed(vectors: Sequence[Any]) -> np.ndarray:
    """Return RDKit bit vectors as (n, W) uint64, packed by numpy."""
    length = vectors[0].GetNumBits()
    bits = np.zeros((len(vectors), -(-length // 64) * 64), np.uint8)
    for row, vector in zip(bits, vectors, strict=True):
        row[list(vector.GetOnBits())] = 1
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def _similarities(vectors: Sequence[Any]) -> np.ndarray:
    """Return the (n, n) Tanimoto similarities that RDKit computes."""
    return np.array([DataStructs.BulkTanimotoSimilarity(vector, list(vectors)) for vector in vectors])


@dataclass
class Recorder(Progress):
    """A progress listener that records each stage with its total and its count, and fails in the stage `failing`."""

    failing: str = ""
    stages: list[tuple[str, int | None, str, int]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        done: list[int] = []
        yield done.append
        self.stages.append((name, total, unit, sum(done)))
        if name == self.failing:
            raise KeyboardInterrupt


@pytest.fixture(scope="session")
def recorder() -> type[Recorder]:
    return Recorder


@pytest.fixture(scope="session")
def generators() -> dict[str, Callable[[Chem.Mol], Any]]:
    """Return RDKit's own fingerprint functions by name, with the defaults of the recipe."""
    return GENERATORS


@pytest.fixture(scope="session")
def packed() -> Callable[[Sequence[Any]], np.ndarray]:
    return _packed


@pytest.fixture(scope="session")
def similarities() -> Callable[[Sequence[Any]], np.ndarray]:
    return _similarities


def _window(rows: Sequence[tuple[float, int, int]], most: int = 70) -> dict[int, list[int]]:
    """Apply the published candidate rule step by step (docs/concepts/method.md)."""
    candidates_of = {}
    for target, (weight, rings, atoms) in enumerate(rows):

        def scan(others: Iterable[int], weight: float = weight, rings: int = rings, atoms: int = atoms) -> list[int]:
            candidates: list[int] = []
            for other in others:
                if abs(rows[other][0] - weight) > 0.10 * weight:
                    break
                if abs(rows[other][1] - rings) <= 1 and abs(rows[other][2] - atoms) <= 7 and len(candidates) < most:
                    candidates.append(other)
            return candidates

        both = scan(range(target - 1, -1, -1))[::-1] + scan(range(target + 1, len(rows)))
        surplus = max(len(both) - most, 0)
        candidates_of[target] = both[surplus // 2 :][:most]
    return candidates_of


@pytest.fixture(scope="session")
def window_reference() -> Callable[..., dict[int, list[int]]]:
    """Return the function window_reference(rows, most=70): the candidates of each target.

    Its rows are (MolWt, rings, heavy atoms), sorted by weight.
    """
    return _window


@pytest.fixture(scope="session")
def nci_molecules(nci_smiles: list[str]) -> list[Chem.Mol]:
    """Return 800 distinct real molecules."""
    with rdBase.BlockLogs():
        parsed = [Chem.MolFromSmiles(text) for text in nci_smiles[:1000]]
    distinct = {Chem.MolToSmiles(molecule): molecule for molecule in parsed if molecule is not None}
    return list(distinct.values())[:800]


_names = count()


@pytest.fixture(scope="module")
def generation(
    tmp_path_factory: pytest.TempPathFactory, generators: Any, packed: Any, similarities: Any
) -> Iterator[Callable[..., Generation]]:
    """Return generation(molecules, recipe, ...), which publishes and opens a generation of values that RDKit computes.

    None of our own code computes a value. `similarity` and `words` replace values to tamper with them. `least` admits
    edges below the recipe's threshold. `rdkit` is the version that the manifest names.
    """
    with ExitStack() as opened:
        store: Store = opened.enter_context(open_store(tmp_path_factory.mktemp("generations"), create=True))

        def generation(
            molecules: Sequence[Chem.Mol],
            recipe: MoleculeRecipe | None = None,
            *,
            similarity: np.ndarray | None = None,
            words: np.ndarray | None = None,
            least: float | None = None,
            rdkit: str = rdBase.rdkitVersion,
            kind: Any = "molecule",
        ) -> Generation:
            recipe = recipe or resolve()
            vectors = [generators[recipe.fingerprint.name](molecule) for molecule in molecules]
            similarity = similarities(vectors) if similarity is None else similarity
            source, target = np.nonzero(np.triu(similarity, 1) >= (least or recipe.threshold))
            edges = Edges(
                source.astype(np.int32), target.astype(np.int32), similarity[source, target].astype(np.float32)
            )
            described = [
                {
                    "heavy_atoms": molecule.GetNumHeavyAtoms(),
                    "molwt": Descriptors.MolWt(molecule),
                    "rings": rdMolDescriptors.CalcNumRings(molecule),
                }
                for molecule in molecules
            ]
            rows = [
                {"smiles": Chem.MolToSmiles(molecule), "names": [], **own}
                for molecule, own in zip(molecules, described, strict=True)
            ]
            name = f"c{next(_names)}"
            with store.draft(name, kind) as draft:
                columns = [pa.field(name, pa.float64()) for name in described[0]]
                draft.append_items(pa.RecordBatch.from_pylist(rows, schema=pa.schema([*ITEM_SCHEMA, *columns])))
                draft.append_fingerprints(packed(vectors) if words is None else words)
                draft.append_edges(edges)
                draft.write_forest(Edges(edges.source[:0], edges.target[:0], edges.similarity[:0]))
                draft.publish(
                    Provenance(
                        kind=kind,
                        recipe=recipe.model_dump(mode="json"),
                        structure="smiles" if kind == "molecule" else "structure",
                        versions={"rdkit": rdkit},
                        libraries=["rdkit"],
                        inputs=[],
                        counts=Counts(read=len(rows), kept=len(rows), duplicates=0, rejected=0),
                        edges=len(edges),
                        dropped=0,
                        properties=dict.fromkeys(described[0], "number"),
                        histograms={},
                        times={},
                    )
                )
            return opened.enter_context(store.open(name))

        yield generation
