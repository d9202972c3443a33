"""Calibration of batch-normalization statistics for an untrained encoder (docs/reference/training.md)."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphkin.trainer.downstream.embed import batches
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.norm import BatchNorm


@torch.no_grad()
def calibrate(encoder: Encoder, corpus: Corpus, ids: NDArray[np.int64] | None = None) -> None:
    """Set the running statistics of every `BatchNorm` to the mean and the unbiased variance of its input.

    The statistics are over all atoms, at least two, of the graphs `ids`, by default of the whole corpus. They are taken
    in evaluation mode, in which the encoder is left. The input of a layer depends on the statistics of earlier layers,
    so the graphs are encoded once for each layer.

    A freshly initialized encoder does not normalize in evaluation mode. Compared with it, a pre-trained encoder would
    seem better because of its running statistics alone.
    """
    encoder.eval()
    assembler = Assembler(corpus, next(encoder.parameters()).device)
    for norm in [module for module in encoder.modules() if isinstance(module, BatchNorm)]:
        moments = _Moments()
        with norm.register_forward_pre_hook(moments):
            for part in batches(corpus, ids):
                encoder(assembler.batch(part))
        moments.store(norm)


class _Moments:
    """Forward hook that sums the input of a module and its squares in float64."""

    def __init__(self) -> None:
        self._count = 0
        self._sum: Tensor | float = 0.0
        self._squares: Tensor | float = 0.0

    def __call__(self, module: torch.nn.Module, inputs: tuple[Tensor]) -> None:  # noqa: ARG002
        values = inputs[0].double()
        self._count += len(values)
        self._sum = self._sum + values.sum(0)
        self._squares = self._squares + values.square().sum(0)

    def store(self, norm: BatchNorm) -> None:
        assert norm.running_mean is not None
        assert norm.running_var is not None
        mean = self._sum / self._count
        norm.running_mean.copy_(torch.as_tensor(mean))
        norm.running_var.copy_(torch.as_tensor((self._squares - mean * self._sum) / (self._count - 1)))
