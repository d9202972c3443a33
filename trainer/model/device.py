"""The device that torch computes on."""

from pathlib import Path

import torch

from graphkin.protocol.errors import InvalidInput


def select_device(name: str) -> torch.device:
    """Return the device `cpu` or `cuda`.

    Raises:
        InvalidInput: `cuda` was requested, and torch finds no GPU.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise InvalidInput(
            "PyTorch finds no NVIDIA GPU",
            given=f"device {name}",
            expected="device cpu",
            hint='use --device cpu (in Python device="cpu"), or install the NVIDIA driver and a PyTorch built for CUDA',
        )
    return torch.device(name)


def computes_bf16(device: torch.device, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether the device computes in bfloat16 natively, not by emulation; True if unknown.

    A CPU lists the features avx512_bf16 or amx_bf16 (x86), or bf16 (ARM), in `cpuinfo`.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if not cpuinfo.exists():
        return True
    return not {"avx512_bf16", "amx_bf16", "bf16"}.isdisjoint(cpuinfo.read_text().split())
