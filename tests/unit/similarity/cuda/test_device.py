"""GPUs that cannot compute the join are refused by name."""

import numpy as np
import pytest
import torch

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.cuda import join
from graphkin.similarity.cuda.device import require_cuda
from graphkin.similarity.cuda.fingerprints import SortedFingerprints


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let torch find a GPU of compute capability 7.5."""
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (7, 5))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")


@pytest.mark.usefixtures("gpu")
def test_old_gpu_is_refused() -> None:
    with pytest.raises(InvalidInput, match="this GPU is too old") as error:
        require_cuda()
    assert "Tesla T4, compute capability 7.5" in str(error.value)


@pytest.mark.usefixtures("gpu")
def test_torch_without_cuda_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(InvalidInput, match="PyTorch finds no NVIDIA GPU"):
        require_cuda()


def test_too_little_memory_is_an_error_that_names_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(join, "Launcher", refuse)
    fingerprints = SortedFingerprints.from_words(np.ones((2, 1), np.uint64))
    with pytest.raises(InvalidInput, match="too little free memory") as error:
        list(join.DeviceJoin(fingerprints, None, 0.5, torch.device("cpu")).pairs())
    assert "device cuda" in str(error.value)
