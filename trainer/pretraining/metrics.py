"""What is measured of embeddings, besides the loss (docs/training.md; Wang and Isola, 2020)."""

import torch
from torch import Tensor


def alignment(anchors: Tensor, positives: Tensor) -> Tensor:
    """The mean squared distance of unit vectors (B, D) to their positives, in [0, 4]; low is good."""
    return (anchors - positives).square().sum(1).mean()


def uniformity(graphs: Tensor) -> Tensor:
    """log of the mean of e^(-2 d²) over all pairs of unit vectors (B, D), B ≥ 2; at most 0, low is good."""
    return torch.pdist(graphs).square().mul(-2).exp().mean().log()


@torch.no_grad()
def measures(anchors: Tensor, positives: Tensor) -> dict[str, Tensor]:
    """Both by name, of unit vectors: anchors (B, D) to their positives (S, B, D), and anchors."""
    pairs = anchors.expand_as(positives).flatten(0, 1), positives.flatten(0, 1)
    return {"alignment": alignment(*pairs), "uniformity": uniformity(anchors)}
