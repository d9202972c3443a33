"""What is measured of embeddings, against its definition."""

import numpy as np
import pytest
import torch

from graphkin.trainer.pretraining.hgc import unit
from graphkin.trainer.pretraining.metrics import alignment, uniformity


def test_alignment_and_uniformity() -> None:
    z = unit(torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    assert alignment(z, z) == 0
    assert alignment(z, -z) == pytest.approx(4)
    pairs = [(z[i] - z[j]).square().sum() for i in range(6) for j in range(i)]
    assert uniformity(z) == pytest.approx(np.log(np.mean(np.exp([-2 * float(pair) for pair in pairs]))))
    assert uniformity(z[:1].expand(6, 4)) == pytest.approx(0)
