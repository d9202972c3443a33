"""The GPU that torch computes on."""

import torch

from graphkin.protocol.errors import InvalidInput


def require_cuda() -> torch.device:
    """Return the GPU.

    Raises:
        InvalidInput: Torch finds no GPU.
    """
    if not torch.cuda.is_available():
        raise InvalidInput(
            "torch finds no GPU",
            given="--device cuda",
            expected="an NVIDIA GPU with its driver, and torch built for CUDA",
            hint="use --device cpu, which gives the same similarity graph",
        )
    return torch.device("cuda")
