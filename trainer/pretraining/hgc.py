"""HGC: contrast with graphs that are similar, not with augmented copies (docs/training.md)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

_FIRST = 2**31  # above every id: a pair of ids is one number


class EdgeSet:
    """Some edges of a hierarchy, to ask which pairs are joined; 16 bytes an edge."""

    def __init__(self, ends: Tensor) -> None:
        """ends (E, 2), on the device where it will be asked; edges may be given in any order, and twice."""
        one, other = ends.long().unbind(1)
        last = torch.full((1,), torch.iinfo(torch.long).max, device=ends.device)
        self._keys = torch.cat([one * _FIRST + other, other * _FIRST + one, last]).sort().values

    def joins(self, rows: Tensor, columns: Tensor) -> Tensor:
        """bool of the broadcast shape of rows and columns: whether these two ids are neighbours."""
        keys = rows * _FIRST + columns
        return self._keys[torch.searchsorted(self._keys, keys)] == keys

    @classmethod
    def sampled(cls, anchors: Tensor, positives: Tensor) -> "EdgeSet":
        """Those known from a draw alone: of anchors (B,) to their positives (S, B)."""
        return cls(torch.stack([anchors.expand_as(positives), positives], -1).view(-1, 2))


def twins(size: int, pairs: NDArray[Any]) -> NDArray[np.int64]:
    """(size,): the lowest id among the items that are as good as each item.

    pairs (P, 2): the pairs of similarity 1, such as stereoisomers with equal fingerprints.
    """
    lowest = np.arange(size)
    while True:
        lower = lowest.copy()
        np.minimum.at(lower, pairs[:, 0], lowest[pairs[:, 1]])
        np.minimum.at(lower, pairs[:, 1], lowest[pairs[:, 0]])
        if np.array_equal(lower, lowest):
            return lowest
        lowest = lower


def in_batch_masks(anchors: Tensor, positives: Tensor, edges: EdgeSet | None = None) -> tuple[Tensor, Tensor]:
    """Which negatives of a first-order step are none, because they are the row itself or its positive.

    anchors (B,), positives (S, B) are ids, or rather the ids of their twins (`twins`): items of similarity 1 count as
    one. With `edges` a negative that is a neighbour of the row is masked too (off by default, docs/method.md).

    Two (S, B, B), [s, i, j] being about anchor i and positive (s, j): that column j is no negative of row i, and, for
    the opposite direction, that row i is no negative of column j. The diagonal is the positive and never masked.
    """
    of_anchor, of_positive = anchors.view(1, -1, 1), positives.unsqueeze(1)
    same = of_anchor == of_positive
    forward = same | (positives.unsqueeze(2) == of_positive)
    reverse = same | (of_anchor == anchors)
    if edges is not None:
        joined = edges.joins(of_anchor, of_positive)
        forward, reverse = forward | joined, reverse | joined
    negative = ~torch.eye(len(anchors), dtype=torch.bool, device=anchors.device)
    return forward & negative, reverse & negative


def shared_mask(anchors: Tensor, positives: Tensor, negatives: Tensor, edges: EdgeSet | None = None) -> Tensor:
    """(B, M): which of the shared negatives are none for an anchor: itself, or one of its positives.

    anchors (B,), positives (S, B), negatives (M,), ids as in `in_batch_masks`.
    """
    mask = (anchors.unsqueeze(1) == negatives) | (positives.unsqueeze(2) == negatives).any(0)
    return mask if edges is None else mask | edges.joins(anchors.unsqueeze(1), negatives)


def first_order_loss(
    anchors: Tensor, positives: Tensor, temperature: float = 0.07, masks: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Σ over slots s of CE(Z K_sᵀ / τ, diagonal) + CE(K_s Zᵀ / τ, diagonal), each a mean over the batch.

    anchors (B, D), positives (S, B, D): unit vectors. The negatives of an anchor are the other anchors' positives in
    the same slot, and those of a positive the other anchors; `masks`, of `in_batch_masks`, takes some out.

    With orthonormal anchors equal to their positives each direction is -log(e^(1/τ) / (e^(1/τ) + B - 1)); with all
    embeddings equal it is log B.
    """
    with _full_precision(anchors):
        anchors, positives = _at_least_float32(anchors), _at_least_float32(positives)
        logits = anchors @ positives.transpose(1, 2) / temperature  # (S, B, B)
        hits = logits.diagonal(dim1=1, dim2=2)  # (S, B)
        forward, reverse = (
            (logits, logits) if masks is None else (logits.masked_fill(each, -torch.inf) for each in masks)
        )
        return (forward.logsumexp(2) - hits).mean(1).sum() + (reverse.logsumexp(1) - hits).mean(1).sum()


def high_order_loss(
    anchors: Tensor, positives: Tensor, negatives: Tensor, temperature: float = 0.07, mask: Tensor | None = None
) -> Tensor:
    """The mean over anchors i and slots s of -log[e^(z_i·k_is/τ) / (e^(z_i·k_is/τ) + Σ_n e^(z_i·z_n/τ))], plus the
    same with k_is for z_i in every product with a negative.

    anchors (B, D), positives (S, B, D), negatives (M, D): unit vectors, the negatives shared by all anchors. `mask`,
    (B, M) of `shared_mask`, takes negatives of an anchor, and of its positives, out.
    """
    with _full_precision(anchors):
        anchors, positives, negatives = map(_at_least_float32, (anchors, positives, negatives))
        hits = (anchors * positives).sum(2) / temperature  # (S, B)
        one, other = (
            _against(hits, queries @ negatives.T / temperature, mask)
            for queries in (anchors.expand_as(positives), positives)
        )
        return one + other


def queue_loss(
    anchors: Tensor, positives: Tensor, negatives: Tensor, temperature: float = 0.07, mask: Tensor | None = None
) -> Tensor:
    """One direction of it alone, with one positive: the mean over anchors i of
    -log[e^(z_i·k_i/τ) / (e^(z_i·k_i/τ) + Σ_n e^(z_i·z_n/τ))] (He et al., 2020: MoCo).

    anchors, positives (B, D), negatives (M, D): unit vectors; `mask` (B, M) takes negatives of an anchor out.
    """
    with _full_precision(anchors):
        anchors, positives, negatives = map(_at_least_float32, (anchors, positives, negatives))
        hits = (anchors * positives).sum(1) / temperature
        return _against(hits, anchors @ negatives.T / temperature, mask)


def nt_xent_loss(one: Tensor, other: Tensor, temperature: float = 0.07, kin: Tensor | None = None) -> Tensor:
    """The normalised, temperature-scaled cross-entropy of Chen et al. (2020): the mean over all 2 B copies of
    -log[e^(z·z'/τ) / Σ e^(z·w/τ)], z' being the other copy of the same graph and w every copy but z itself.

    one, other (B, D): unit vectors, row i of both being copies of graph i. kin (B,): ids of the graphs, where some may
    be equal; copies of equal ones are no negatives of each other.
    """
    with _full_precision(one):
        copies = torch.cat([_at_least_float32(one), _at_least_float32(other)])
        count = len(one)
        logits = copies @ copies.T / temperature  # (2 B, 2 B)
        partner = (torch.arange(2 * count, device=copies.device) + count) % (2 * count)
        none = torch.eye(2 * count, dtype=torch.bool, device=copies.device)
        if kin is not None:
            twice = kin.repeat(2)
            none = (twice.unsqueeze(1) == twice).scatter(1, partner.unsqueeze(1), value=False)
        return F.cross_entropy(logits.masked_fill(none, -torch.inf), partner)


def _against(hits: Tensor, logits: Tensor, mask: Tensor | None) -> Tensor:
    """The mean cross-entropy of positives, hits (..., B), against negatives, logits (..., B, M)."""
    if mask is not None:
        logits = logits.masked_fill(mask, -torch.inf)
    return (torch.cat([hits.unsqueeze(-1), logits], -1).logsumexp(-1) - hits).mean()


def unit(graphs: Tensor) -> Tensor:
    """Rows made unit vectors, in float32 or wider."""
    with _full_precision(graphs):
        return F.normalize(_at_least_float32(graphs), dim=-1)


def _at_least_float32(values: Tensor) -> Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float32))


@contextmanager
def _full_precision(values: Tensor) -> Iterator[None]:
    """Neither autocast nor TF32: a cosine's tenth bit is worth 0.7 % of e^(cosine / 0.07)."""
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.autocast(values.device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
