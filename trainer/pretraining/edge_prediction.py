"""Edge_Pred: which atoms are bonded (Hamilton et al., 2017, as Hu et al., 2020, pre-train with it)."""

import torch
from torch import Tensor

from graphkin.trainer.model.norm import spread
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.discrimination import discrimination, products
from graphkin.trainer.pretraining.objective import Objective, Step, make_encoder
from graphkin.trainer.pretraining.pairs import bonded_pairs, unbonded_pairs


class EdgePrediction(Objective):
    """The dot product of two atoms' vectors tells bonded pairs from as many pairs of the same graph without a bond."""

    def __init__(self, model: Model, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self._ranks = ranks
        self.encoder = make_encoder(model)
        spread(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:  # noqa: ARG002
        """`positives` and `negatives`, as `discrimination`. The generator draws the pairs, those of all ranks."""
        atoms, whole = self.encoder(step.batch), step.everyone()
        own = self._ranks.share(step.anchors)
        first, stop = whole.atom_ptr[own.start], whole.atom_ptr[own.stop]

        def scores(pairs: Tensor) -> Tensor:
            one, other = pairs[:, (first <= pairs[0]) & (pairs[0] < stop)] - first
            return products(atoms[one], atoms[other])

        negatives = scores(unbonded_pairs(whole, generator))
        return discrimination(scores(bonded_pairs(whole)), negatives, self._ranks)
