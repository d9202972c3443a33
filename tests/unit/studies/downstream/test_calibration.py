"""Calibrated running statistics equal those of the population."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from graphkin.trainer.downstream import embed
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.encoders import ConvolutionalEncoder
from studies.downstream.calibration import calibrate


@pytest.fixture(scope="module")
def molecules(nci_smiles: list[str]) -> Corpus:
    return featurize(nci_smiles[:60], "nci")


@pytest.fixture(scope="module")
def everyone(molecules: Corpus) -> Batch:
    return Assembler(molecules).batch(np.arange(molecules.size))


@pytest.fixture(params=["gin", "gcn", "sage"])
def encoder(request: pytest.FixtureRequest) -> ConvolutionalEncoder:
    torch.manual_seed(3)
    return ConvolutionalEncoder(request.param, layers=3, width=12).double()


def test_statistics_are_the_moments_of_the_inputs_of_each_layer(
    encoder: ConvolutionalEncoder, molecules: Corpus, everyone: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "_BATCH_ATOMS", 100)  # many batches
    calibrate(encoder, molecules)
    assert not encoder.training
    layer_inputs: list[Tensor] = []
    for norm in encoder.norms:
        norm.register_forward_pre_hook(lambda _, inputs: layer_inputs.append(inputs[0]))
    with torch.no_grad():
        encoder(everyone)
    for norm, values in zip(encoder.norms, layer_inputs, strict=True):
        assert_close(norm.running_mean, values.mean(0), rtol=1e-9, atol=1e-12)
        assert_close(norm.running_var, values.var(0), rtol=1e-9, atol=1e-12)


def test_evaluation_equals_training_on_the_whole_batch(
    encoder: ConvolutionalEncoder, molecules: Corpus, everyone: Batch
) -> None:
    """The variance differs: over n atoms, the one of training is (n - 1) / n of the calibrated one."""
    expected = deepcopy(encoder).train()(everyone)
    calibrate(encoder, molecules)
    assert_close(encoder(everyone), expected, rtol=0, atol=0.02)
