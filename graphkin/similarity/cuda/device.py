"""The GPU that torch computes on."""

import torch
import triton  # noqa: F401 - so that the check notices if it is missing

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter

_OLDEST = (8, 0)  # Triton does not multiply int8 on older tensor cores


def require_cuda() -> torch.device:
    """Return the GPU.

    Raises:
        InvalidInput: Torch finds no GPU by NVIDIA, or the GPU is too old for the kernel.
    """
    if torch.version.cuda is None or not torch.cuda.is_available():
        raise InvalidInput(
            "PyTorch finds no NVIDIA GPU",
            given="device cuda",
            expected="device cpu, which computes the same result",
            hint=f"use {parameter('--device', 'cpu')}, or install the NVIDIA driver and a PyTorch built for CUDA",
        )
    major, minor = torch.cuda.get_device_capability()
    if (major, minor) < _OLDEST:
        raise InvalidInput(
            "this GPU is too old for this computation",
            given=f"{torch.cuda.get_device_name()}, compute capability {major}.{minor}",
            expected="compute capability 8.0 or later",
            hint=f"use {parameter('--device', 'cpu')}, which computes the same result",
        )
    return torch.device("cuda")
