"""Batch normalization over the atoms of a batch on all ranks, with running statistics that can be frozen."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from graphkin.trainer.model.batch import Padding
from graphkin.trainer.model.ranks import ALONE, Ranks


class BatchNorm(nn.BatchNorm1d):
    """Normalization of (N, D) over the N atoms of all ranks together; each atom has the same weight.

    While `frozen`, training normalizes by the batch and does not update the running statistics (method.md D).
    """

    frozen = False
    ranks: Ranks = ALONE

    def forward(self, input: Tensor, padding: Padding | None = None) -> Tensor:
        """Normalize rows (N, D). With `padding`, which requires a single rank, rows of padding are left out."""
        if not self.training:
            return super().forward(input)
        if padding is not None:
            return self._over_valid_rows(input, padding)
        if self.ranks.size > 1:
            return self._over_ranks(input)
        if not self.frozen:
            return super().forward(input)
        return F.batch_norm(input, None, None, self.weight, self.bias, training=True, eps=self.eps)

    def _over_valid_rows(self, input: Tensor, padding: Padding) -> Tensor:
        output, mean, variance = _PaddedNorm.apply(input, self.weight, self.bias, *padding, self.eps)
        if not self.frozen:
            self._update_statistics(mean, variance * padding.atoms / (padding.atoms - 1).clamp_min(1))
        return output

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


class _PaddedNorm(torch.autograd.Function):
    """Normalization over the valid rows of padded values, and the mean and the variance (D,) of these rows.

    The incoming gradients of invalid rows must be 0. Invalid rows of the output have no meaning, and the gradients of
    invalid input rows are 0.
    """

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        weight: Tensor,
        bias: Tensor,
        is_valid: Tensor,
        count: Tensor,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        is_valid = is_valid.unsqueeze(1)
        values = values * is_valid
        # Because invalid rows are 0, both moments about 0 are those of all rows times N / count.
        ratio = len(values) / count.clamp_min(1).to(weight.dtype)
        padded_mean, padded_variance = _moments(values)
        mean = ratio * padded_mean
        variance = (ratio * padded_variance - (ratio - 1) * mean * padded_mean).clamp_min(0)
        output = torch.native_batch_norm(values, weight, bias, mean, variance, False, 0.0, eps)[0]
        ctx.save_for_backward(values, weight, is_valid, count, mean, (variance + eps).rsqrt())
        ctx.mark_non_differentiable(mean, variance)
        return output, mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        values, weight, is_valid, count, mean, inverse_deviation = ctx.saved_tensors
        gradient = gradient.contiguous()
        if values.is_cuda:
            totals = torch.batch_norm_backward_reduce(
                gradient, values, mean, inverse_deviation, weight, True, True, True
            )
            product, scaled_product, weight_gradient, bias_gradient = totals
            input_gradient = torch.batch_norm_backward_elemt(
                gradient, values, mean, inverse_deviation, weight, product, scaled_product, count.int().view(1)
            )
        else:
            normal = (values - mean) * inverse_deviation
            weight_gradient, bias_gradient = (gradient * normal).sum(0), gradient.sum(0)
            mean_gradient = (bias_gradient + normal * weight_gradient) / count.clamp_min(1)
            input_gradient = ((gradient - mean_gradient) * (weight * inverse_deviation)).to(values.dtype)
        return input_gradient.mul_(is_valid), weight_gradient, bias_gradient, None, None, None


def _moments(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance of all rows, (D,), in float32 or wider."""
    if values.is_cuda:
        return torch.batch_norm_update_stats(values, None, None, 0.0)
    variance, mean = torch.var_mean(values.to(torch.promote_types(values.dtype, torch.float32)), 0, correction=0)
    return mean, variance


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
