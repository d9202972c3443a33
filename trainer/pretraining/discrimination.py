"""Telling pairs that belong together from pairs that do not, by a logit each (Hu et al., 2020)."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from graphkin.trainer.model.ranks import ALONE, Ranks


def products(one: Tensor, other: Tensor) -> Tensor:
    """(P,): the dot product of each row of one (P, D) with that of other (P, D), in float32 or wider."""
    wide = torch.promote_types(one.dtype, torch.float32)
    return (one.to(wide) * other.to(wide)).sum(1)


def discrimination(positives: Tensor, negatives: Tensor, ranks: Ranks = ALONE) -> dict[str, Tensor]:
    """`positives`, the mean binary cross-entropy of logits (P,) that should say 1; `negatives`, that of logits (Q,)
    that should say 0; and `loss`, their sum. A mean is over those of all ranks, and 0 where there are none.

    With all logits 0 each mean is log 2.
    """
    told = _mean(-F.logsigmoid(positives), ranks), _mean(-F.logsigmoid(-negatives), ranks)
    return {"positives": told[0], "negatives": told[1], "loss": told[0] + told[1]}


def _mean(losses: Tensor, ranks: Ranks) -> Tensor:
    count = ranks.sum(losses.new_tensor(float(len(losses))))
    return ranks.sum(losses.sum()) / count.clamp_min(1)
