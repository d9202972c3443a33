"""Models widened by zeros to a multiple of 16, for which GPUs multiply bfloat16 matrices faster.

A widened model computes the same as the narrow one. The columns that it adds are zero in every layer: their weights,
and therefore their values and their gradients, are 0, and Adam does not change a weight whose gradients are 0.
"""

from dataclasses import replace

import torch
from torch import Tensor

from graphkin.trainer.pretraining.config import PretrainConfig

_MULTIPLE = 16


def widened(config: PretrainConfig) -> PretrainConfig:
    """Return the options with the width of the encoder rounded up to a multiple of 16."""
    width = -(-config.model.width // _MULTIPLE) * _MULTIPLE
    return replace(config, model=replace(config.model, width=width))


def widen(values: Tensor, shape: torch.Size) -> Tensor:
    """Return a tensor of this shape, with zeros after the values in every dimension."""
    if values.shape == shape:
        return values
    result = values.new_zeros(shape)
    narrow(result, values.shape).copy_(values)
    return result


def narrow(values: Tensor, shape: torch.Size) -> Tensor:
    """Return a view of the first values in every dimension, of this shape. It undoes `widen`."""
    return values[tuple(slice(0, size) for size in shape)]
