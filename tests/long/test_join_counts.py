"""The join on real data equals RDKit pair by pair on 20,000 molecules, and by count on all of ZINC250k (issue 5)."""

import gzip
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from graphkin.similarity.join import Pairs, similar_pairs

ZINC = Path(__file__).parents[3] / "shared" / "data" / "molecules" / "zinc250k.smiles.gz"
BITS = 2048
LOWEST = 0.3
GENERATORS = {
    "morgan": rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=BITS),
    "rdkit": rdFingerprintGenerator.GetRDKitFPGenerator(fpSize=BITS),
}


class Truth(NamedTuple):
    """Fingerprints, and every pair ≥ LOWEST of them by RDKit alone."""

    words: np.ndarray
    pairs: Pairs


def _vectors(name: str, count: int | None) -> list[Any]:
    if not ZINC.is_file():
        pytest.fail(f"{ZINC} is missing: this check needs the shared data folder")
    with gzip.open(ZINC, "rt") as file:
        return [GENERATORS[name].GetFingerprint(Chem.MolFromSmiles(line)) for line in islice(file, count)]


def _packed(vectors: list[Any]) -> np.ndarray:
    return np.frombuffer(b"".join(map(DataStructs.BitVectToBinaryText, vectors)), "<u8").reshape(-1, BITS // 64)


def _sorted(pairs: Pairs) -> Pairs:
    order = np.lexsort((pairs.right, pairs.left))
    return Pairs(pairs.left[order], pairs.right[order], pairs.similarity[order])


def _same(found: Pairs, expected: Pairs) -> bool:
    return all(
        np.array_equal(getattr(found, name), getattr(expected, name)) for name in ("left", "right", "similarity")
    )


@pytest.fixture(scope="module", params=[("morgan", 20_000), ("rdkit", 5_000)], ids=lambda param: param[0])
def truth(request: pytest.FixtureRequest) -> Truth:
    """Return real molecules, with empty, equal, full and almost full fingerprints among them."""
    name, count = request.param
    empty, full, almost = (DataStructs.ExplicitBitVect(BITS) for _ in range(3))
    full.SetBitsFromList(list(range(BITS)))
    almost.SetBitsFromList(list(range(1, BITS)))
    real = _vectors(name, count - 100)
    mixed = [*real, *real[:88], *[full, empty, almost] * 4]
    vectors = [mixed[row] for row in np.random.default_rng(0).permutation(len(mixed))]
    blocks = []
    for row in range(1, len(vectors)):
        similarity = np.array(DataStructs.BulkTanimotoSimilarity(vectors[row], vectors[:row]))
        near = np.flatnonzero(similarity >= LOWEST)
        blocks.append(Pairs(near.astype(np.int32), np.full(len(near), row, np.int32), similarity[near]))
    return Truth(_packed(vectors), _sorted(Pairs.concatenate(blocks)))


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("threshold", [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
def test_pairs_equal_rdkit(truth: Truth, threshold: float, threads: int) -> None:
    near = truth.pairs.similarity >= threshold
    expected = Pairs(truth.pairs.left[near], truth.pairs.right[near], truth.pairs.similarity[near])
    assert _same(_sorted(Pairs.concatenate(list(similar_pairs(truth.words, threshold, threads)))), expected)


@pytest.fixture(scope="module")
def zinc() -> np.ndarray:
    return _packed(_vectors("morgan", None))


@pytest.mark.parametrize(("threshold", "count"), [(0.4, 4_706_458), (0.5, 736_069), (0.6, 115_090), (0.7, 22_644)])
def test_zinc250k_has_the_recorded_number_of_pairs(zinc: np.ndarray, threshold: float, count: int) -> None:
    """The prototype of issue 5 and the naive kernel agreed on these counts."""
    assert len(zinc) == 249_456
    assert sum(len(pairs) for pairs in similar_pairs(zinc, threshold, 2)) == count
