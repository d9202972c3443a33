"""Reading and writing the safetensors format (github.com/huggingface/safetensors) without a package."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from graphkin.protocol.errors import Damaged

_TYPES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}
_NUMPY = {"F32": np.float32, "F64": np.float64, "I64": np.int64}
_ALIGNMENT = 8


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write float32, float64 and int64 tensors from any device."""
    header, end = {}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": _TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.detach().cpu().contiguous().numpy().tobytes())


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file, on the CPU. Raises `OSError` if the file cannot be read.

    Raises:
        Damaged: The file is truncated or has another format.
    """
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8:start])
        header.pop("__metadata__", None)
        return {name: _tensor(content, start, **entry) for name, entry in header.items()}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Damaged(
            f"the weights cannot be read: {error}",
            given=str(path),
            expected="a complete safetensors file of float32 or int64",
            hint="copy the file again, or train again in an empty folder",
        ) from error


def _tensor(content: bytes, start: int, dtype: str, shape: list[int], data_offsets: list[int]) -> Tensor:
    begin, end = data_offsets
    values = np.frombuffer(content[start + begin : start + end], _NUMPY[dtype])
    return torch.from_numpy(values.reshape(shape).copy())
