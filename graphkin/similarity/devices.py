"""Devices that compare fingerprints."""

from typing import Literal, TypeAlias

from graphkin.protocol.errors import InvalidInput, install_hint
from graphkin.protocol.parameters import parameter

Device: TypeAlias = Literal["cpu", "cuda"]
"""Device that compares pairs: the processor, or an NVIDIA GPU."""


def cpu_only(device: Device) -> InvalidInput:
    """Return the error of a comparison that is computed only on a processor, not on `device`."""
    return InvalidInput(
        "a GPU compares only molecules and fingerprints, by Tanimoto similarity and with exact candidates",
        given=f"device {device}",
        expected="device cpu",
        hint=f"leave {parameter('--device')} out, or use {parameter('--device', 'cpu')}",
    )


def require_device(device: Device) -> None:
    """Check that this machine can compute on a device.

    Raises:
        InvalidInput: The device is a GPU, and the extra `gpu` is not installed or torch finds no GPU.
    """
    if device == "cpu":
        return
    try:
        from graphkin.similarity.cuda.device import require_cuda
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"comparisons on a GPU need the package {error.name}, which is not installed",
            given=f"device {device}",
            expected="device cpu, which gives the same result",
            hint=install_hint("gpu") + "; or use the device cpu",
        ) from error
    require_cuda()
