"""HGC, masking, or both on one shared encoder (paper, sections 4.2 to 4.4; method.md C, D)."""

import torch
from torch import Tensor, nn

from graphkin.trainer.model.batch import Batch, Part
from graphkin.trainer.model.norm import frozen_statistics, share_statistics
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Contrast, PretrainConfig
from graphkin.trainer.pretraining.hgc import (
    EdgeSet,
    first_order_loss,
    graphcl_loss,
    high_order_loss,
    in_batch_masks,
    nt_xent_loss,
    shared_mask,
    unit,
)
from graphkin.trainer.pretraining.masking import Masking, choose, masking_loss
from graphkin.trainer.pretraining.metrics import measures
from graphkin.trainer.pretraining.objective import Objective, Step, make_encoder

ELEMENTS = 119
"""Atom types that the atom head predicts: all but the mask."""


def _projection(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))


class JointObjective(Objective):
    """Contrast with other anchors' positives or with shared negatives, and prediction of masked atoms.

    Args:
        config: Options of the run.
        edges: Edges of the similarity graph, for `Contrast.mask_neighbors`.
        ranks: The processes that train together.
    """

    def __init__(self, config: PretrainConfig, edges: EdgeSet | None = None, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self._contrast = config.contrast
        self._masking = config.masking
        self._edges = edges
        self._ranks = ranks
        self._has_two_passes = config.contrast is not None and config.contrast.loss == "graphcl"
        used: dict[Part, bool] = {
            "whole": config.contrast is not None and not self._has_two_passes,
            "anchors": config.masking is not None or self._has_two_passes,
            "others": self._has_two_passes,
        }
        self.parts = [part for part, is_used in used.items() if is_used]
        self.encoder = make_encoder(config.model)
        width = self.encoder.width
        self.head = nn.Linear(width, ELEMENTS) if config.masking else None
        self.projection = _projection(width) if self._contrast is not None and self._contrast.head else nn.Identity()
        share_statistics(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:
        """Return the losses `hgc` and `masking`, each with weight 1. The generator samples the masks."""
        losses, metrics = {}, {}
        if self._contrast is not None:
            vectors = self._embed(step)
            losses["hgc"] = self._hgc_loss(self._contrast, step, *vectors)
            metrics = measures(*vectors[:2]) if measure else {}
        if self._masking is not None:
            losses["masking"] = self._masking_loss(self._masking, step, generator)
        return {**losses, "loss": torch.stack([*losses.values()]).sum(), **metrics}

    def _hgc_loss(
        self, contrast: Contrast, step: Step, z_anchor: Tensor, z_positive: Tensor, z_negative: Tensor
    ) -> Tensor:
        anchors, slots = step.anchors, step.slots
        anchor, positive, negative = torch.split(step.kin, [anchors, anchors * slots, step.negatives])
        positive = positive.view(slots, anchors)
        if contrast.loss == "graphcl":
            return graphcl_loss(z_anchor, z_positive[0], contrast.temperature)
        if contrast.loss == "nt-xent":
            return nt_xent_loss(z_anchor, z_positive[0], contrast.temperature, anchor)
        edges = (self._edges or EdgeSet.from_samples(anchor, positive)) if contrast.mask_neighbors else None
        if step.negatives:
            mask = shared_mask(anchor, positive, negative, edges)
            return high_order_loss(z_anchor, z_positive, z_negative, contrast.temperature, mask)
        masks = in_batch_masks(anchor, positive, edges)
        return first_order_loss(z_anchor, z_positive, contrast.temperature, masks)

    def _embed(self, step: Step) -> tuple[Tensor, Tensor, Tensor]:
        """Return unit vectors of the samples of all ranks: anchors (B, D), positives (S, B, D), negatives (M, D)."""
        ranks = self._ranks
        anchor_share, negative_share = ranks.share(step.anchors), ranks.share(step.negatives)
        z = unit(self.projection(self._encode(step)))
        anchors = anchor_share.stop - anchor_share.start
        z_anchor, z_positive, z_negative = torch.split(
            z, [anchors, anchors * step.slots, negative_share.stop - negative_share.start]
        )
        z_positive = z_positive.view(step.slots, anchors, -1).transpose(0, 1)
        return (
            ranks.rows(z_anchor, anchor_share.start, step.anchors),
            ranks.rows(z_positive, anchor_share.start, step.anchors).transpose(0, 1),
            ranks.rows(z_negative, negative_share.start, step.negatives),
        )

    def _encode(self, step: Step) -> Tensor:
        """Return the vectors of this rank's graphs. Graphs of one forward pass share batch statistics."""
        if self._has_two_passes:
            return torch.cat([self.encoder.graphs(step.first()), self.encoder.graphs(step.rest())])
        return self.encoder.graphs(step.batch)

    def _masking_loss(self, masking: Masking, step: Step, generator: torch.Generator) -> Tensor:
        batch = step.first()
        with frozen_statistics(self.encoder):
            mask = choose(masking, batch, self.atoms, generator, self._ranks, step.everyone())
        logits = self.atoms(batch.masked(mask))
        return masking_loss(logits, batch.atom_type, mask, masking.loss, self._ranks, batch.padding)

    def atoms(self, batch: Batch) -> Tensor:
        """Return the logits of every atom's type, (N, 119)."""
        assert self.head is not None
        logits: Tensor = self.head(self.encoder(batch))
        return logits
