"""Edge_Pred: prediction of bonds (Hamilton et al., 2017; pre-training as in Hu et al., 2020; method.md E5)."""

import torch
from torch import Tensor

from graphkin.trainer.model.norm import share_statistics
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.discrimination import discrimination, products
from graphkin.trainer.pretraining.objective import Objective, Step, make_encoder
from graphkin.trainer.pretraining.pairs import bonded_pairs, unbonded_pairs


class EdgePrediction(Objective):
    """Discriminates bonded from unbonded pairs of atoms by the dot product of their vectors.

    Each graph provides as many unbonded pairs as it has bonds, if there are that many.
    """

    def __init__(self, model: Model, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self._ranks = ranks
        self.encoder = make_encoder(model)
        share_statistics(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:  # noqa: ARG002
        """Return `positives` and `negatives` of `discrimination`.

        The generator samples the unbonded pairs of all ranks.
        """
        atoms, everyone = self.encoder(step.batch), step.everyone()
        share = self._ranks.share(step.anchors)
        first, stop = everyone.atom_ptr[share.start], everyone.atom_ptr[share.stop]

        def scores(pairs: Tensor) -> Tensor:
            left, right = pairs[:, (first <= pairs[0]) & (pairs[0] < stop)] - first
            return products(atoms[left], atoms[right])

        negatives = scores(unbonded_pairs(everyone, generator))
        return discrimination(scores(bonded_pairs(everyone)), negatives, self._ranks)
