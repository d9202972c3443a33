"""Where torch computes."""

from pathlib import Path

import torch

from graphkin.protocol.errors import InvalidInput


def chosen_device(name: str) -> torch.device:
    """cpu or cuda. Raises `InvalidInput` for cuda where torch finds no GPU."""
    if name == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("torch finds no GPU", given=name, hint="use --device cpu, or install torch for CUDA")
    return torch.device(name)


def computes_bf16(device: torch.device, described: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether bfloat16 is arithmetic of this device, and not emulated; also where that cannot be told.

    A processor says so in the file that describes it: as avx512_bf16 or amx_bf16, ARM's as bf16.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if not described.exists():
        return True
    return not {"avx512_bf16", "amx_bf16", "bf16"}.isdisjoint(described.read_text().split())
