"""`graphkin.similar_pairs` equals RDKit's comparison of all pairs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

import graphkin
from graphkin.protocol.errors import InvalidInput


def brute_force(vectors: Sequence[Any], threshold: float) -> list[tuple[int, int, float]]:
    pairs = []
    for left, vector in enumerate(vectors):
        similar = DataStructs.BulkTanimotoSimilarity(vector, vectors[left + 1 :])
        pairs += [(left, left + 1 + right, each) for right, each in enumerate(similar) if each >= threshold]
    return pairs


def rows(table: Any) -> list[tuple[int, int, float]]:
    return list(zip(*(table[name].to_pylist() for name in ("left", "right", "similarity")), strict=True))


def vector(bits: set[int], length: int) -> Any:
    fingerprint = DataStructs.ExplicitBitVect(length)
    fingerprint.SetBitsFromList([*bits])
    return fingerprint


@pytest.mark.parametrize("bits", [1024, 2048, 167])
def test_pairs_of_real_molecules_equal_rdkit(nci_smiles: list[str], bits: int) -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=bits)
    molecules = [molecule for smiles in nci_smiles[:400] if (molecule := Chem.MolFromSmiles(smiles)) is not None]
    vectors = [generator.GetFingerprint(molecule) for molecule in molecules]
    pairs = graphkin.similar_pairs(vectors, 0.5)
    assert len(pairs) > 50
    assert rows(pairs) == brute_force(vectors, 0.5)


@given(st.lists(st.sets(st.integers(0, 69), max_size=12), max_size=12), st.floats(0.01, 1))
def test_pairs_of_random_bits_equal_rdkit(fingerprints: list[set[int]], threshold: float) -> None:
    vectors = [vector(bits, 70) for bits in fingerprints]
    assert rows(graphkin.similar_pairs(vectors, threshold)) == brute_force(vectors, threshold)


def test_packed_bits_give_the_pairs_of_bit_vectors() -> None:
    random = np.random.default_rng(3)
    bits = random.random((90, 192)) < 0.2
    packed = np.packbits(bits, axis=1, bitorder="little").view("uint64")
    vectors = [vector({*np.flatnonzero(row).tolist()}, 192) for row in bits]
    assert packed.shape == (90, 3)
    expected = brute_force(vectors, 0.25)
    assert rows(graphkin.similar_pairs(packed, 0.25)) == expected
    assert rows(graphkin.similar_pairs(packed[::-1][::-1], 0.25, threads=3)) == expected
    assert rows(graphkin.similar_pairs(tuple(vectors), 0.25)) == expected


def test_fewer_than_two_fingerprints_have_no_pairs() -> None:
    for none in ([], [vector({1}, 64)], np.empty((0, 4), np.uint64), np.ones((1, 4), np.uint64)):
        pairs = graphkin.similar_pairs(none, 0.5)
        assert (len(pairs), pairs.columns) == (0, ["left", "right", "similarity"])
        assert [str(field.type) for field in pairs.arrow.schema] == ["int32", "int32", "double"]


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.01, float("nan")])
def test_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(InvalidInput, match="threshold"):
        graphkin.similar_pairs([vector({1}, 64)], threshold)


@pytest.mark.parametrize(
    "fingerprints",
    [
        [vector({1}, 64), vector({1}, 128)],
        [vector({1}, 64), None],
        [vector(set(), 0)],
        np.full((3, 2), 2, np.int64),
        np.ones(3, np.uint64),
        np.ones((3, 0), np.uint64),
        np.ones((2, 1024), np.uint64),
    ],
    ids=["lengths", "none", "no bits", "counts", "one row", "no words", "too long"],
)
def test_invalid_fingerprints_are_refused(fingerprints: Any) -> None:
    with pytest.raises(InvalidInput):
        graphkin.similar_pairs(fingerprints, 0.5)


@pytest.mark.parametrize("threads", [0, 1.5, "2"])
def test_invalid_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(InvalidInput, match="number of threads"):
        graphkin.similar_pairs(["CCO", "CCN"], 0.5, threads=threads)
