"""Batch normalization over the atoms of a batch on all ranks, with running statistics that can be frozen."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from graphkin.trainer.model.ranks import ALONE, Ranks


class BatchNorm(nn.BatchNorm1d):
    """Normalization of (N, D) over the N atoms of all ranks together; each atom has the same weight.

    While `frozen`, training normalizes by the batch and does not update the running statistics (method.md D).
    """

    frozen = False
    ranks: Ranks = ALONE

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or (self.ranks.size == 1 and not self.frozen):
            return super().forward(input)
        if self.ranks.size == 1:
            return F.batch_norm(input, None, None, self.weight, self.bias, training=True, eps=self.eps)
        return self._over_ranks(input)

    def _over_ranks(self, input: Tensor) -> Tensor:
        values = input.to(torch.promote_types(input.dtype, torch.float32))
        count = self.ranks.sum(values.new_tensor(float(len(values))))
        mean = self.ranks.sum(values.sum(0)) / count
        centered = values - mean
        variance = self.ranks.sum(centered.square().sum(0)) / count
        if not self.frozen:
            self._update_statistics(mean.detach(), (variance * count / (count - 1)).detach())
        return (centered / torch.sqrt(variance + self.eps) * self.weight + self.bias).to(input.dtype)

    @torch.no_grad()
    def _update_statistics(self, mean: Tensor, variance: Tensor) -> None:
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        self.num_batches_tracked += 1
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(variance, self.momentum)


def share_statistics(module: nn.Module, ranks: Ranks) -> None:
    """Make every `BatchNorm` in `module` normalize over all ranks."""
    for norm in _norms(module):
        norm.ranks = ranks


@contextmanager
def frozen_statistics(module: nn.Module) -> Iterator[None]:
    """Suspend updates of the running statistics of every `BatchNorm` in `module`."""
    states = [(norm, norm.frozen) for norm in _norms(module)]
    for norm, _ in states:
        norm.frozen = True
    try:
        yield
    finally:
        for norm, frozen in states:
            norm.frozen = frozen


def _norms(module: nn.Module) -> list[BatchNorm]:
    return [each for each in module.modules() if isinstance(each, BatchNorm)]
