"""Whether the task that was learned saturates: retrieval of held-out anchors' positives (docs/evidence-plan.md)."""

import numpy as np
import torch

from graphkin.trainer.feed.source import Source
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.encoders import Encoder
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.hgc import unit
from graphkin.trainer.pretraining.plan import Plan
from studies.cells import Cell

_BATCHES = 64


@torch.no_grad()
def retrieved(encoder: Encoder, source: Source, config: PretrainConfig, used: int) -> Cell:
    """retrieval: the share of anchors whose first positive is the nearest of the positives of all anchors of a batch,
    in batches as large as in training.

    The last `_BATCHES` whole batches of the first epoch's order are asked for, none of them among its first `used`
    anchors; `anchors` says how many that were.
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
