"""Metrics equal their definitions."""

import pytest
import torch

from studies.downstream.metrics import retrieval


def test_retrieval_needs_the_positive_strictly_first() -> None:
    z = torch.eye(3)
    assert retrieval(z, z) == 1
    assert retrieval(z, z[[1, 0, 2]]) == pytest.approx(1 / 3)
    assert retrieval(z, z[[0, 0, 2]]) == pytest.approx(1 / 3)  # a tie is not first
