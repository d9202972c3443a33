"""Embeddings: unit vectors, in order, whatever they are encoded together with."""

import io

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from graphkin.trainer.downstream import embed as module
from graphkin.trainer.downstream.embed import batches, embed
from graphkin.trainer.downstream.embedding_file import Block, NpyFile, ParquetFile
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.encoders import ConvolutionalEncoder


@pytest.fixture(scope="module")
def molecules(nci_smiles: list[str]) -> Corpus:
    return featurize(nci_smiles[:50], "nci")


@pytest.fixture
def encoder() -> Encoder:
    torch.manual_seed(0)
    return ConvolutionalEncoder("gin", layers=2, width=8, dropout=0.5)


def test_each_row_is_the_mean_of_its_atoms_made_a_unit_vector(molecules: Corpus, encoder: Encoder) -> None:
    found = embed(encoder, molecules)
    assert found.shape == (50, 8)
    assert found.dtype == np.float32
    encoder.eval()
    with torch.no_grad():
        for id in (0, 7, 49):
            mean = encoder(Assembler(molecules).batch(np.array([id]))).double().numpy().mean(0)
            np.testing.assert_allclose(found[id], mean / np.linalg.norm(mean), atol=1e-5)


@pytest.mark.parametrize("atoms", [1, 100, 10**6])
def test_the_batches_make_no_difference(
    molecules: Corpus, encoder: Encoder, atoms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = embed(encoder, molecules)
    monkeypatch.setattr(module, "_BATCH_ATOMS", atoms)
    encoder.train()
    np.testing.assert_allclose(embed(encoder, molecules), expected, atol=1e-5)


@pytest.mark.parametrize("atoms", [1, 40, 100, 10**6])
def test_batches_are_everyone_in_order_and_bounded(
    molecules: Corpus, atoms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH_ATOMS", atoms)
    cut = [*batches(molecules)]
    np.testing.assert_array_equal(np.concatenate(cut), np.arange(50))
    sizes = np.diff(molecules.atom_offsets.astype(int))
    assert max(sizes[ids].sum() for ids in cut) <= atoms + sizes.max()
    assert len(cut) >= min(50, sizes.sum() / (atoms + sizes.max()))


def test_nobody(encoder: Encoder) -> None:
    assert embed(encoder, featurize([], "empty")).shape == (0, 8)


BLOCKS = (
    Block(0, ["C", "x", "CC"], np.array([0, 2]), np.array([[1, 0], [0, 1]], np.float32)),
    Block(3, ["y"], np.empty(0, np.int64), np.empty((0, 2), np.float32)),
    Block(4, ["N"] * 1000, np.arange(1000), np.tile(np.array([0.6, 0.8], np.float32), (1000, 1))),
)


def test_npy_has_a_row_a_record() -> None:
    file = io.BytesIO()
    with NpyFile(file, 2, "smiles") as written:
        for block in BLOCKS:
            written.add(block)
    file.seek(0)
    found = np.load(file)
    assert (found.shape, found.dtype) == ((1004, 2), np.float32)
    np.testing.assert_array_equal(np.isnan(found).all(1).nonzero()[0], [1, 3])
    np.testing.assert_array_equal(found[[0, 2]], [[1, 0], [0, 1]])
    np.testing.assert_array_equal(found[4:], np.tile(np.array([0.6, 0.8], np.float32), (1000, 1)))


def test_parquet_has_a_row_a_molecule() -> None:
    file = io.BytesIO()
    with ParquetFile(file, 2, "smiles") as written:
        for block in BLOCKS:
            written.add(block)
    found = pq.read_table(file)
    assert found["row"].to_pylist() == [0, 2, *range(4, 1004)]
    assert found["smiles"].to_pylist()[:3] == ["C", "CC", "N"]
    assert np.stack(found["embedding"].to_numpy()).shape == (1002, 2)
    assert found["embedding"][1].as_py() == [0, 1]
