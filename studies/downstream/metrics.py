"""Metrics of embeddings."""

import torch
from torch import Tensor


def retrieval(anchors: Tensor, positives: Tensor) -> Tensor:
    """Return the share of anchors (B, D) whose own positive, of (B, D), is more similar than every other anchor's."""
    similarity = anchors @ positives.T
    own = similarity.diagonal().unsqueeze(1)
    others = similarity.masked_fill(torch.eye(len(anchors), dtype=torch.bool, device=anchors.device), -torch.inf)
    return (own > others).all(1).float().mean()
