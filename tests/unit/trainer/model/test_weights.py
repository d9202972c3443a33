"""Our safetensors files against the safetensors library, both ways."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from graphkin.protocol.errors import Damaged
from graphkin.trainer.model.weights import load_tensors, save_tensors

TENSORS = {
    "encoder.weight": torch.randn(3, 5, generator=torch.Generator().manual_seed(0)),
    "step": torch.tensor(7.0),
    "count": torch.tensor([1, 2, 3]),
    "nothing": torch.empty(0, 4, dtype=torch.float64),
    "turned": torch.arange(6, dtype=torch.float32).view(2, 3).T,
}


def assert_same(found: dict[str, torch.Tensor]) -> None:
    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_safetensors_library_reads_written_tensors(tmp_path: Path) -> None:
    save_tensors(tmp_path / "a", TENSORS)
    assert_same(load_file(tmp_path / "a"))
    assert_same(load_tensors(tmp_path / "a"))


def test_we_read_what_the_library_writes(tmp_path: Path) -> None:
    save_file({name: tensor.contiguous() for name, tensor in TENSORS.items()}, tmp_path / "a", {"format": "pt"})
    assert_same(load_tensors(tmp_path / "a"))


@pytest.mark.parametrize("content", [b"", b"\x05", b"PK\x03\x04 something else", b"\x02\0\0\0\0\0\0\0[]"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(Damaged, match="safetensors"):
        load_tensors(tmp_path / "a")


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    save_tensors(tmp_path / "a", TENSORS)
    whole = (tmp_path / "a").read_bytes()
    for length in (len(whole) - 1, len(whole) // 2, 100):
        (tmp_path / "a").write_bytes(whole[:length])
        with pytest.raises(Damaged):
            load_tensors(tmp_path / "a")
