"""Devices that compute joins."""

from typing import Literal, TypeAlias

from graphkin.protocol.errors import InvalidInput

Device: TypeAlias = Literal["cpu", "cuda"]
"""Where pairs are compared: on the processor, or on an NVIDIA GPU."""


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
            "a join on a GPU needs the gpu extra",
            given=f"--device {device}, without {error.name}",
            expected="--device cpu, which builds the same similarity graph",
            hint="pip install 'graphkin[gpu]', or '.[gpu]' in a clone",
        ) from error
    require_cuda()
