"""Measures of embeddings in addition to the loss: alignment and uniformity (Wang and Isola, 2020)."""

import torch
from torch import Tensor


def alignment(anchors: Tensor, positives: Tensor) -> Tensor:
    """Return the mean squared distance of unit vectors (B, D) to their positives, in [0, 4]; lower is better."""
    return (anchors - positives).square().sum(1).mean()


def uniformity(graphs: Tensor) -> Tensor:
    """Return log of the mean of e^(-2 d²) over all pairs of unit vectors (B, D), B ≥ 2; at most 0, lower is better."""
    return torch.pdist(graphs).square().mul(-2).exp().mean().log()


@torch.no_grad()
def measures(anchors: Tensor, positives: Tensor) -> dict[str, Tensor]:
    """Return alignment and uniformity by name.

    Args:
        anchors: (B, D) Unit vectors.
        positives: (S, B, D) Unit vectors of the positives, slot by slot.
    """
    pairs = anchors.expand_as(positives).flatten(0, 1), positives.flatten(0, 1)
    return {"alignment": alignment(*pairs), "uniformity": uniformity(anchors)}
