"""The GPU that torch computes on."""

import torch
import triton  # noqa: F401 - so that the check notices if it is missing

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
            expected="--device cpu, which gives the same result",
            hint="for a GPU by NVIDIA, install its driver and a torch built for CUDA",
        )
    return torch.device("cuda")
