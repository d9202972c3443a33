"""Counter-based random numbers on a device, bit for bit those of `features/altered.py`."""

import torch
from torch import Tensor

from graphkin.trainer.features.altered import SPLITMIX

_WEYL, _MIX_1, _MIX_2 = (value - 2**64 for value in SPLITMIX)  # torch multiplies signed integers modulo 2^64


def mix(words: Tensor) -> Tensor:
    """Return the next output of SplitMix64 for each state, int64 of any shape."""
    words = words + _WEYL
    words = (words ^ _shift(words, 30)) * _MIX_1
    words = (words ^ _shift(words, 27)) * _MIX_2
    return words ^ _shift(words, 31)


def uniforms(states: Tensor, *decision: Tensor | int) -> Tensor:
    """Return float64 numbers in [0, 1) with 53 random bits, of the broadcast shape of all arguments.

    Args:
        states: int64 generator states.
        decision: Integers that identify the decision for which a number is used.
    """
    words = states
    for part in decision:
        words = mix(words ^ part)
    return _shift(words, 11).to(torch.float64) * 2.0**-53


def _shift(words: Tensor, bits: int) -> Tensor:
    """Shift to the right and fill with zeros, which `>>` does not do with negative numbers."""
    return (words >> bits) & (2 ** (64 - bits) - 1)
