"""Retrieval of held-out anchors' positives, a sign that pre-training saturates (docs/develop/evidence-plan.md)."""

import numpy as np
import torch

from graphkin.trainer.feed.source import Source
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.hgc import unit
from graphkin.trainer.pretraining.plan import Plan
from studies.cells import Cell

_BATCHES = 64


@torch.no_grad()
def measure_retrieval(encoder: Encoder, source: Source, config: PretrainConfig, used: int) -> Cell:
    """Return the share of anchors whose first positive is the nearest among the positives of their batch.

    Batches are as large as in training. They are the last `_BATCHES` whole batches in the order of the first epoch,
    without any of its first `used` anchors.

    Returns:
        `retrieval`, the share, and `anchors`, their number.
    """
    encoder.eval()
    plan = Plan(config, 0, source.epoch(0))
    size = config.draws.batch_size
    whole = [step for step in range(plan.steps) if step * size >= used and len(plan.draw(step).anchors) == size]
    assembler = Assembler(source.corpus())
    hits: list[float] = []
    for step in whole[-_BATCHES:]:
        draw = plan.draw(step)
        z = unit(encoder.graphs(assembler.batch(np.concatenate([draw.anchors, draw.positives[:, 0]]))))
        nearest = (z[:size] @ z[size:].T).argmax(1)
        hits.extend((nearest == torch.arange(size)).double().tolist())
    return {"retrieval": float(np.mean(hits)) if hits else float("nan"), "anchors": len(hits)}
