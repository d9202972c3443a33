"""What a step minimises: HGC, masking, or both on one encoder (method.md C, D)."""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.encoders import Encoder, graph_mean
from graphkin.trainer.model.norm import frozen_statistics, spread
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Contrast, Model, PretrainConfig
from graphkin.trainer.pretraining.hgc import (
    EdgeSet,
    first_order_loss,
    high_order_loss,
    in_batch_masks,
    shared_mask,
    unit,
)
from graphkin.trainer.pretraining.masking import Masking, choose, masking_loss
from graphkin.trainer.pretraining.metrics import alignment, uniformity

ELEMENTS = 119
"""Atom types that the atom head tells apart: all but the mask."""


@dataclass(frozen=True, eq=False)
class Draw:
    """The ids of one step.

    anchors    (B,), none of them isolated if there are positives
    positives  (B, S), S = 0 for masking alone
    negatives  (M,) shared by all anchors; M = 0: the other anchors' positives serve
    """

    anchors: NDArray[np.int32]
    positives: NDArray[np.int32]
    negatives: NDArray[np.int32]

    def ids(self) -> NDArray[np.int32]:
        """All of them in the order of a step's batch: anchors, positives slot by slot, negatives."""
        return np.concatenate([self.anchors, self.positives.T.reshape(-1), self.negatives])

    @property
    def graphs(self) -> int:
        """How many are encoded, each as often as it comes."""
        return len(self.anchors) + self.positives.size + len(self.negatives)

    def share(self, ranks: Ranks) -> "Draw":
        """What this rank encodes of it."""
        own = ranks.share(len(self.anchors))
        return Draw(self.anchors[own], self.positives[own], self.negatives[ranks.share(len(self.negatives))])


@dataclass(frozen=True, eq=False)
class Step:
    """A draw, ready to be trained on.

    batch     of `Draw.ids` of this rank's share
    kin       the ids of the whole draw in that order, as the contrast compares them: of the lowest twins
              (`hgc.twins`) where these are known
    anchors, slots, negatives  B, S and M of the whole draw
    everyone  the anchors of all ranks
    """

    batch: Batch
    kin: Tensor
    anchors: int
    slots: int
    negatives: int
    everyone: Batch

    @classmethod
    def of(
        cls, draw: Draw, assembler: Assembler, twins: NDArray[np.int64] | None = None, ranks: Ranks = ALONE
    ) -> "Step":
        batch = assembler.batch(draw.share(ranks).ids())
        sizes = len(draw.anchors), draw.positives.shape[1], len(draw.negatives)
        everyone = batch.first(sizes[0]) if ranks.size == 1 else assembler.batch(draw.anchors)
        ids = draw.ids().astype(np.int64)
        kin = torch.from_numpy(ids if twins is None else twins[ids]).to(assembler.device, non_blocking=True)
        return cls(batch, kin, *sizes, everyone)


class Objective(nn.Module):
    """The encoder with what its pre-training strategy puts on it.

    edges: of the hierarchy, for `Contrast.mask_neighbors`.
    """

    def __init__(self, config: PretrainConfig, edges: EdgeSet | None = None, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self._contrast = config.contrast
        self._masking = config.masking
        self._edges = edges
        self._ranks = ranks
        self.encoder = make_encoder(config.model)
        self.head = nn.Linear(config.model.width, ELEMENTS) if config.masking else None
        spread(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:
        """The losses of the whole draw by name, and `loss`, their sum. The generator draws the masks.

        With `measure` also alignment and uniformity of what was contrasted, where something is: of the anchors to
        their positives, and of the anchors.
        """
        losses, measures = {}, {}
        if self._contrast is not None:
            embedded = self._embedded(step)
            losses["hgc"] = self._hgc(self._contrast, step, *embedded)
            measures = _measured(*embedded[:2]) if measure else {}
        if self._masking is not None:
            losses["masking"] = self._masked(self._masking, step, generator)
        return {**losses, "loss": torch.stack([*losses.values()]).sum(), **measures}

    def _hgc(self, contrast: Contrast, step: Step, z_anchor: Tensor, z_positive: Tensor, z_negative: Tensor) -> Tensor:
        anchors, slots = step.anchors, step.slots
        anchor, positive, negative = torch.split(step.kin, [anchors, anchors * slots, step.negatives])
        positive = positive.view(slots, anchors)
        edges = (self._edges or EdgeSet.sampled(anchor, positive)) if contrast.mask_neighbors else None
        if step.negatives:
            mask = shared_mask(anchor, positive, negative, edges)
            return high_order_loss(z_anchor, z_positive, z_negative, contrast.temperature, mask)
        masks = in_batch_masks(anchor, positive, edges)
        return first_order_loss(z_anchor, z_positive, contrast.temperature, masks)

    def _embedded(self, step: Step) -> tuple[Tensor, Tensor, Tensor]:
        """Unit vectors of the whole draw: (B, D), (S, B, D) and (M, D)."""
        ranks, own, shared = self._ranks, self._ranks.share(step.anchors), self._ranks.share(step.negatives)
        z = unit(graph_mean(self.encoder(step.batch), step.batch))  # one forward: one population of batch statistics
        anchors = own.stop - own.start
        z_anchor, z_positive, z_negative = torch.split(z, [anchors, anchors * step.slots, shared.stop - shared.start])
        z_positive = z_positive.view(step.slots, anchors, -1).transpose(0, 1)
        return (
            ranks.rows(z_anchor, own.start, step.anchors),
            ranks.rows(z_positive, own.start, step.anchors).transpose(0, 1),
            ranks.rows(z_negative, shared.start, step.negatives),
        )

    def _masked(self, masking: Masking, step: Step, generator: torch.Generator) -> Tensor:
        own = self._ranks.share(step.anchors)
        batch = step.batch.first(own.stop - own.start)
        with frozen_statistics(self.encoder) if masking.freeze else nullcontext():
            mask = choose(masking, batch, self.atoms, generator, self._ranks, step.everyone)
        return masking_loss(self.atoms(batch.masked(mask)), batch.atom_type, mask, masking.loss, self._ranks)

    def atoms(self, batch: Batch) -> Tensor:
        """(N, 119): the logits of every atom's type."""
        assert self.head is not None
        logits: Tensor = self.head(self.encoder(batch))
        return logits


@torch.no_grad()
def _measured(anchors: Tensor, positives: Tensor) -> dict[str, Tensor]:
    """anchors (B, D), positives (S, B, D)"""
    pairs = anchors.expand_as(positives).flatten(0, 1), positives.flatten(0, 1)
    return {"alignment": alignment(*pairs), "uniformity": uniformity(anchors)}


def make_encoder(model: Model) -> Encoder:
    return Encoder(model.encoder, model.layers, model.width, model.dropout)
