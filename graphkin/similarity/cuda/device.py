"""The GPU that torch computes on."""

import torch
import triton  # noqa: F401 - so that the check notices if it is missing

from graphkin.protocol.errors import InvalidInput

_OLDEST = (8, 0)  # Triton does not multiply int8 on older tensor cores


def require_cuda() -> torch.device:
    """Return the GPU.

    Raises:
        InvalidInput: Torch finds no GPU by NVIDIA, or the GPU is too old for the kernel.
    """
    if torch.version.cuda is None or not torch.cuda.is_available():
        raise InvalidInput(
            "torch finds no GPU",
            given="--device cuda",
            expected="--device cpu, which gives the same result",
            hint="for a GPU by NVIDIA, install its driver and a torch built for CUDA",
        )
    major, minor = torch.cuda.get_device_capability()
    if (major, minor) < _OLDEST:
        raise InvalidInput(
            "this GPU is too old for the join",
            given=f"--device cuda, {torch.cuda.get_device_name()} of compute capability {major}.{minor}",
            expected="compute capability 8.0 or later",
            hint="use --device cpu, which gives the same result",
        )
    return torch.device("cuda")
