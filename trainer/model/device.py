"""Where torch computes."""

import torch

from graphkin.protocol.errors import InvalidInput


def chosen_device(name: str) -> torch.device:
    """cpu or cuda. Raises `InvalidInput` for cuda where torch finds no GPU."""
    if name == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("torch finds no GPU", given=name, hint="use --device cpu, or install torch for CUDA")
    return torch.device(name)
