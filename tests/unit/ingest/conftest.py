"""Chunks of records, and molecule generations that RDKit alone computed."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import Descriptors, MACCSkeys, rdFingerprintGenerator, rdMolDescriptors

from graphkin.ingest.parsing import Chunk
from graphkin.ingest.readers import RECORD_SCHEMA
from graphkin.ingest.recipe import MoleculeRecipe, resolve
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from graphkin.store.records import ITEM_SCHEMA, Counts, Edges, Provenance

GENERATORS: dict[str, Callable[[Chem.Mol], Any]] = {
    "morgan": rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint,
    "rdkit": rdFingerprintGenerator.GetRDKitFPGenerator().GetFingerprint,
    "maccs": MACCSkeys.GenMACCSKeys,
    "atompair": rdFingerprintGenerator.GetAtomPairGenerator().GetFingerprint,
    "torsion": rdFingerprintGenerator.GetTopologicalTorsionGenerator().GetFingerprint,
}


def _packed(vectors: Sequence[Any]) -> np.ndarray:
    """RDKit bit vectors as words (n, W), by way of numpy's own bit packing."""
    length = vectors[0].GetNumBits()
    bits = np.zeros((len(vectors), -(-length // 64) * 64), np.uint8)
    for row, vector in zip(bits, vectors, strict=True):
        row[list(vector.GetOnBits())] = 1
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def _similarities(vectors: Sequence[Any]) -> np.ndarray:
    """(n, n) by RDKit."""
    return np.array([DataStructs.BulkTanimotoSimilarity(vector, list(vectors)) for vector in vectors])


def _window(rows: Sequence[tuple[float, int, int]], most: int = 70) -> dict[int, list[int]]:
    """method.md A2 (i), step by step."""
    found = {}
    for target, (weight, rings, atoms) in enumerate(rows):

        def scan(others: Iterable[int], weight: float = weight, rings: int = rings, atoms: int = atoms) -> list[int]:
            kept: list[int] = []
            for other in others:
                if abs(rows[other][0] - weight) > 0.10 * weight:
                    break
                if abs(rows[other][1] - rings) <= 1 and abs(rows[other][2] - atoms) <= 7 and len(kept) < most:
                    kept.append(other)
            return kept

        both = scan(range(target - 1, -1, -1))[::-1] + scan(range(target + 1, len(rows)))
        surplus = max(len(both) - most, 0)
        found[target] = both[surplus // 2 :][:most]
    return found


@pytest.fixture(scope="session")
def window_reference() -> Callable[..., dict[int, list[int]]]:
    """window_reference(rows, most=70): target -> candidates, of (MolWt, rings, heavy atoms) sorted by weight."""
    return _window


@pytest.fixture(scope="session")
def generators() -> dict[str, Callable[[Chem.Mol], Any]]:
    """RDKit's own fingerprint functions by name, at the recipe's defaults."""
    return GENERATORS


@pytest.fixture(scope="session")
def packed() -> Callable[[Sequence[Any]], np.ndarray]:
    return _packed


@pytest.fixture(scope="session")
def similarities() -> Callable[[Sequence[Any]], np.ndarray]:
    return _similarities


@pytest.fixture(scope="session")
def nci_molecules(nci_smiles: list[str]) -> list[Chem.Mol]:
    """800 distinct real molecules."""
    with rdBase.BlockLogs():
        parsed = [Chem.MolFromSmiles(text) for text in nci_smiles[:1000]]
    distinct = {Chem.MolToSmiles(molecule): molecule for molecule in parsed if molecule is not None}
    return list(distinct.values())[:800]


@pytest.fixture
def chunk() -> Callable[..., Chunk]:
    """chunk(texts, names=None, properties=None, faults=None): records of one source, lines from 1."""

    def chunk(
        texts: Sequence[str],
        names: Sequence[str | None] | None = None,
        properties: Sequence[dict[str, str]] | None = None,
        faults: Sequence[str | None] | None = None,
        text_format: Any = "smiles",
    ) -> Chunk:
        nothing = [None] * len(texts)
        pairs = [list(own.items()) for own in properties or [{} for _ in texts]]
        columns = [range(1, len(texts) + 1), texts, names or nothing, pairs, faults or nothing]
        arrays = [pa.array(list(column), field.type) for column, field in zip(columns, RECORD_SCHEMA, strict=True)]
        return Chunk("made-up.smi", text_format, pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA))

    return chunk


_names = count()


@pytest.fixture(scope="module")
def generation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Generation]]:
    """generation(molecules, recipe, ...) publishes and opens what RDKit computes for them, nothing of ours in between.

    `similarity` and `words` may be given to tamper with them, and `least` for edges below the recipe's threshold;
    `rdkit` is the version that claims to have built it.
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
            vectors = [GENERATORS[recipe.fingerprint.name](molecule) for molecule in molecules]
            similarity = _similarities(vectors) if similarity is None else similarity
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
                {"smiles": Chem.MolToSmiles(molecule), "names": [], "properties": json.dumps(own)}
                for molecule, own in zip(molecules, described, strict=True)
            ]
            name = f"c{next(_names)}"
            with store.draft(name, kind) as draft:
                draft.append_items(pa.RecordBatch.from_pylist(rows, schema=ITEM_SCHEMA))
                draft.append_fingerprints(_packed(vectors) if words is None else words)
                draft.append_edges(edges)
                draft.write_forest(Edges(edges.source[:0], edges.target[:0], edges.similarity[:0]))
                draft.publish(
                    Provenance(
                        kind=kind,
                        recipe=recipe.model_dump(mode="json"),
                        versions={"rdkit": rdkit},
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
