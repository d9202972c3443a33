"""Discrimination of matching pairs from others by a logit for each pair (Hu et al., 2020)."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from graphkin.trainer.model.ranks import ALONE, Ranks


def products(left: Tensor, right: Tensor) -> Tensor:
    """Return the dot products of the rows of two (P, D) tensors, (P,), in float32 or wider."""
    wide = torch.promote_types(left.dtype, torch.float32)
    return (left.to(wide) * right.to(wide)).sum(1)


def discrimination(
    positives: Tensor,
    negatives: Tensor,
    ranks: Ranks = ALONE,
    is_pair: Tensor | None = None,
) -> dict[str, Tensor]:
    """Return the mean binary cross-entropy of both classes, and their sum `loss`.

    `positives` is the mean over logits (P,) with target 1, and `negatives` that over logits (Q,) with target 0. Means
    are over the pairs of all ranks, and 0 without pairs. If all logits are 0, each mean is log 2.

    Args:
        positives: (P,) Logits of matching pairs.
        negatives: (Q,) Logits of other pairs.
        ranks: The processes that train together.
        is_pair: (P,) bool. Logits of both classes that count, where P = Q; None if all do.
    """
    losses = _mean(-F.logsigmoid(positives), ranks, is_pair), _mean(-F.logsigmoid(-negatives), ranks, is_pair)
    return {"positives": losses[0], "negatives": losses[1], "loss": losses[0] + losses[1]}


def _mean(losses: Tensor, ranks: Ranks, is_pair: Tensor | None) -> Tensor:
    if is_pair is None:
        count = losses.new_full((), float(len(losses)))
    else:
        losses, count = losses * is_pair, is_pair.sum().to(losses.dtype)
    return ranks.sum(losses.sum()) / ranks.sum(count).clamp_min(1)
