"""Devices that compare fingerprints."""

from typing import Literal, TypeAlias

from graphkin.protocol.errors import InvalidInput

Device: TypeAlias = Literal["cpu", "cuda"]
"""Device that compares pairs: the processor, or an NVIDIA GPU."""


def cpu_only(device: Device) -> InvalidInput:
    """Return the error of a comparison that is computed only on a processor, not on `device`."""
    return InvalidInput(
        "only the Tanimoto similarity of molecules and fingerprints can be computed on a GPU, and for exact candidates",
        given=f"--device {device}",
        expected="--device cpu",
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
            "comparisons on a GPU need the gpu extra",
            given=f"--device {device}, without {error.name}",
            expected="--device cpu, which gives the same result",
            hint="pip install 'graphkin[gpu]', or '.[gpu]' in a clone",
        ) from error
    require_cuda()
