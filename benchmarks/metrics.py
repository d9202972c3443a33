"""What is measured of masks, predictions and embeddings (method.md F, T17)."""

import torch
from torch import Tensor

from graphkin.trainer.model.batch import Batch


def masked_distance(batch: Batch, mask: Tensor) -> Tensor:
    """(N,): the shortest-path distance in bonds from each masked atom to the nearest other masked atom (T17).

    NaN where the atom is not masked, and where no other masked atom can be reached.
    """
    source, target = batch.edge_index
    distance, nearest = _spread(source, target, mask)
    # The shortest path to another masked atom leaves, somewhere, the atoms that are nearest to its start.
    leaves = nearest[source] != nearest[target]
    length = torch.where(leaves, distance[source] + 1 + distance[target], torch.inf)
    reached = nearest[source].clamp_min(0)  # -1: no masked atom there, and infinitely far
    shortest = torch.full_like(distance, torch.inf).scatter_reduce(0, reached, length, "amin")
    return torch.where(mask & shortest.isfinite(), shortest, torch.nan)


def _spread(source: Tensor, target: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The distance of every atom to its nearest masked atom, and which that is; infinity and -1 if there is none."""
    atoms = torch.arange(len(mask), device=mask.device)
    distance = torch.where(mask, 0.0, torch.inf).to(torch.float64)
    nearest = torch.where(mask, atoms, -1)
    while True:
        offered = distance[source] + 1
        shorter = torch.full_like(distance, torch.inf).scatter_reduce(0, target, offered, "amin")
        improved = shorter < distance
        if not improved.any():
            return distance, nearest
        by = torch.where(offered == shorter[target], nearest[source], -1)
        offer = torch.full_like(nearest, -1).scatter_reduce(0, target, by, "amax")
        distance, nearest = torch.where(improved, shorter, distance), torch.where(improved, offer, nearest)


def clustered_mean(values: Tensor, cluster: Tensor, clusters: int) -> tuple[float, float]:
    """The mean of values (N,) without NaN, and its standard error where values of one cluster are not independent.

    cluster (N,) in 0..clusters - 1. The error is that of a ratio of two cluster sums (Cochran, Sampling Techniques,
    6.3): √(G / (G - 1) Σ_g (Σ_{i in g} (x_i - mean))²) / n, over the G clusters with any value.
    """
    present = ~values.isnan()
    values, cluster = values[present].double(), cluster[present]
    mean = values.mean()
    residuals = torch.zeros(clusters, dtype=torch.float64).index_add_(0, cluster, values - mean)
    groups = len(torch.unique(cluster))
    scale = groups / (groups - 1) if groups > 1 else torch.nan
    return float(mean), float((scale * residuals.square().sum()).sqrt() / len(values))


def masked_accuracy(logits: Tensor, atom_type: Tensor, mask: Tensor) -> Tensor:
    """The share of masked atoms whose type is predicted right. logits (N, 119), atom_type and mask (N,)."""
    return ((logits.argmax(1) == atom_type) & mask).sum() / mask.sum()


def retrieval(anchors: Tensor, positives: Tensor) -> Tensor:
    """The share of anchors (B, D) whose own positive, of (B, D), is more similar than every other anchor's."""
    similarity = anchors @ positives.T
    own = similarity.diagonal().unsqueeze(1)
    others = similarity.masked_fill(torch.eye(len(anchors), dtype=torch.bool, device=anchors.device), -torch.inf)
    return (own > others).all(1).float().mean()
