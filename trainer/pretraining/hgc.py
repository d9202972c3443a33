"""HGC: contrast with similar graphs instead of augmented views (paper, sections 4.2 and 4.3; method.md C).

See also docs/reference/training.md.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

_ID_LIMIT = 2**31  # above every id, so that source * limit + target encodes an edge as one number


class EdgeSet:
    """A set of edges of a similarity graph, for membership tests; 16 bytes per edge."""

    def __init__(self, ends: Tensor) -> None:
        """Create the set from the ends of its edges, (E, 2), in any order and possibly repeated.

        `ends` is on the device of later tests.
        """
        source, target = ends.long().unbind(1)
        last = torch.full((1,), torch.iinfo(torch.long).max, device=ends.device)
        self._keys = torch.cat([source * _ID_LIMIT + target, target * _ID_LIMIT + source, last]).sort().values

    def joins(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return whether each pair of ids is joined, bool of the broadcast shape of rows and columns."""
        keys = rows * _ID_LIMIT + columns
        return self._keys[torch.searchsorted(self._keys, keys)] == keys

    @classmethod
    def from_samples(cls, anchors: Tensor, positives: Tensor) -> "EdgeSet":
        """Return the edges that a sample contains: those from anchors (B,) to their positives (S, B)."""
        return cls(torch.stack([anchors.expand_as(positives), positives], -1).view(-1, 2))


def twins(size: int, pairs: NDArray[Any]) -> NDArray[np.int64]:
    """Return the lowest id among the items of similarity 1 to each item, transitively: (size,).

    Args:
        size: Number of items.
        pairs: (P, 2) Pairs of similarity 1, such as stereoisomers with equal fingerprints.
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
    """Return which entries of a first-order step are no negatives, because they are the row's item or its positive.

    Entry [s, i, j] of the two (S, B, B) masks is about anchor i and positive (s, j). In the first mask it says that
    column j is no negative of row i; in the second, for the opposite direction, that row i is no negative of column j.
    The diagonal is the positive and is never masked (method.md B).

    Args:
        anchors: (B,) Ids of the lowest twins (`twins`), so that items of similarity 1 count as one.
        positives: (S, B) Ids of the lowest twins.
        edges: Edges of the similarity graph. If given, neighbors of the row are masked too (off by default,
            method.md C).
    """
    of_anchor, of_positive = anchors.view(1, -1, 1), positives.unsqueeze(1)
    same = of_anchor == of_positive
    forward = same | (positives.unsqueeze(2) == of_positive)
    reverse = same | (of_anchor == anchors)
    if edges is not None:
        are_neighbors = edges.joins(of_anchor, of_positive)
        forward, reverse = forward | are_neighbors, reverse | are_neighbors
    negative = ~torch.eye(len(anchors), dtype=torch.bool, device=anchors.device)
    return forward & negative, reverse & negative


def shared_mask(anchors: Tensor, positives: Tensor, negatives: Tensor, edges: EdgeSet | None = None) -> Tensor:
    """Return which shared negatives are no negatives of each anchor, (B, M) bool: the anchor itself and its positives.

    Args:
        anchors: (B,) Ids, as in `in_batch_masks`.
        positives: (S, B) Ids.
        negatives: (M,) Ids.
        edges: Edges of the similarity graph. If given, neighbors of the anchor are masked too.
    """
    mask = (anchors.unsqueeze(1) == negatives) | (positives.unsqueeze(2) == negatives).any(0)
    return mask if edges is None else mask | edges.joins(anchors.unsqueeze(1), negatives)


def first_order_loss(
    anchors: Tensor, positives: Tensor, temperature: float = 0.07, masks: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Return Σ_s [CE(Z K_sᵀ / τ, diagonal) + CE(K_s Zᵀ / τ, diagonal)] over slots s, each a mean over the batch.

    Negatives of an anchor are the other anchors' positives in the same slot. Negatives of a positive are the other
    anchors. With orthonormal anchors equal to their positives, each direction is -log(e^(1/τ) / (e^(1/τ) + B - 1)).
    With all embeddings equal, it is log B (method.md C).

    Args:
        anchors: (B, D) Unit vectors Z.
        positives: (S, B, D) Unit vectors K_s, slot by slot.
        temperature: τ.
        masks: Two (S, B, B) bool masks of `in_batch_masks`, of entries to leave out.
    """
    with _full_precision(anchors):
        anchors, positives = _at_least_float32(anchors), _at_least_float32(positives)
        logits = anchors @ positives.transpose(1, 2) / temperature  # (S, B, B)
        diagonal = logits.diagonal(dim1=1, dim2=2)  # (S, B)
        forward, reverse = (
            (logits, logits) if masks is None else (logits.masked_fill(each, -torch.inf) for each in masks)
        )
        return (forward.logsumexp(2) - diagonal).mean(1).sum() + (reverse.logsumexp(1) - diagonal).mean(1).sum()


def high_order_loss(
    anchors: Tensor, positives: Tensor, negatives: Tensor, temperature: float = 0.07, mask: Tensor | None = None
) -> Tensor:
    """Return the loss with shared negatives (method.md C).

    It is the mean over anchors i and slots s of -log[e^(z_i·k_is/τ) / (e^(z_i·k_is/τ) + Σ_n e^(z_i·z_n/τ))], plus the
    same with k_is in place of z_i in every product with a negative.

    Args:
        anchors: (B, D) Unit vectors z_i.
        positives: (S, B, D) Unit vectors k_is, slot by slot.
        negatives: (M, D) Unit vectors z_n, shared by all anchors.
        temperature: τ.
        mask: (B, M) bool mask of `shared_mask`, of negatives to leave out for an anchor and its positives.
    """
    with _full_precision(anchors):
        anchors, positives, negatives = map(_at_least_float32, (anchors, positives, negatives))
        positive_logits = (anchors * positives).sum(2) / temperature  # (S, B)
        anchor_loss, positive_loss = (
            _cross_entropy(positive_logits, queries @ negatives.T / temperature, mask)
            for queries in (anchors.expand_as(positives), positives)
        )
        return anchor_loss + positive_loss


def queue_loss(
    anchors: Tensor, positives: Tensor, negatives: Tensor, temperature: float = 0.07, mask: Tensor | None = None
) -> Tensor:
    """Return MoCo's loss: one positive, a queue of negatives, one direction (He et al., 2020; method.md C).

    It is the mean over anchors i of -log[e^(z_i·k_i/τ) / (e^(z_i·k_i/τ) + Σ_n e^(z_i·z_n/τ))].

    Args:
        anchors: (B, D) Unit vectors z_i.
        positives: (B, D) Unit vectors k_i.
        negatives: (M, D) Unit vectors z_n.
        temperature: τ.
        mask: (B, M) bool mask of negatives to leave out for an anchor.
    """
    with _full_precision(anchors):
        anchors, positives, negatives = map(_at_least_float32, (anchors, positives, negatives))
        positive_logits = (anchors * positives).sum(1) / temperature
        return _cross_entropy(positive_logits, anchors @ negatives.T / temperature, mask)


def graphcl_loss(first: Tensor, second: Tensor, temperature: float = 0.1) -> Tensor:
    """Return the loss of GraphCL's authors (You et al., 2020, and `loss_cl` of their code for molecules; method.md E5).

    It is the mean over graphs i of -log[e^(z_i·k_i/τ) / Σ_j e^(z_i·k_j/τ)], where j runs over all graphs but i. The
    positive is not in the denominator, so the loss can be negative. There is one direction, and nothing is masked.

    Args:
        first: (B, D) Unit vectors z_i of the first views, with B ≥ 2.
        second: (B, D) Unit vectors k_i of the second views, in the same order.
        temperature: τ.
    """
    with _full_precision(first):
        logits = _at_least_float32(first) @ _at_least_float32(second).T / temperature
        is_positive = torch.eye(len(logits), dtype=torch.bool, device=logits.device)
        return (logits.masked_fill(is_positive, -torch.inf).logsumexp(1) - logits.diagonal()).mean()


def nt_xent_loss(first: Tensor, second: Tensor, temperature: float = 0.07, kin: Tensor | None = None) -> Tensor:
    """Return NT-Xent, the normalized, temperature-scaled cross-entropy of Chen et al. (2020).

    It is the mean over all 2 B views z of -log[e^(z·z'/τ) / Σ_w e^(z·w/τ)], where z' is the other view of the same
    graph and w runs over all views but z (method.md E5).

    Args:
        first: (B, D) Unit vectors of the first views.
        second: (B, D) Unit vectors of the second views, in the same order.
        temperature: τ.
        kin: (B,) Ids of the graphs. Views of equal ids are no negatives of each other.
    """
    with _full_precision(first):
        views = torch.cat([_at_least_float32(first), _at_least_float32(second)])
        count = len(first)
        logits = views @ views.T / temperature  # (2 B, 2 B)
        partner = (torch.arange(2 * count, device=views.device) + count) % (2 * count)
        is_excluded = torch.eye(2 * count, dtype=torch.bool, device=views.device)
        if kin is not None:
            view_ids = kin.repeat(2)
            is_excluded = (view_ids.unsqueeze(1) == view_ids).scatter(1, partner.unsqueeze(1), value=False)
        return F.cross_entropy(logits.masked_fill(is_excluded, -torch.inf), partner)


def _cross_entropy(positive_logits: Tensor, logits: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mean cross-entropy of positive logits (..., B) against negative logits (..., B, M).

    `mask`, (B, M) bool, leaves out negative logits.
    """
    if mask is not None:
        logits = logits.masked_fill(mask, -torch.inf)
    return (torch.cat([positive_logits.unsqueeze(-1), logits], -1).logsumexp(-1) - positive_logits).mean()


def unit(graphs: Tensor) -> Tensor:
    """Scale rows to unit vectors, in float32 or wider."""
    with _full_precision(graphs):
        return F.normalize(_at_least_float32(graphs), dim=-1)


def _at_least_float32(values: Tensor) -> Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float32))


@contextmanager
def _full_precision(values: Tensor) -> Iterator[None]:
    """Disable autocast and TF32, because the tenth bit of a cosine changes e^(cosine / 0.07) by 0.7 %."""
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.autocast(values.device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
