"""Infomax: matching of atoms and graphs (Velickovic et al., 2019; pre-training as in Hu et al., 2020; method.md E5)."""

import torch
from torch import Tensor, nn

from graphkin.trainer.model.encoder import graph_mean, per_atom
from graphkin.trainer.model.norm import share_statistics
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.discrimination import discrimination, products
from graphkin.trainer.pretraining.objective import Objective, Step, make_encoder


class Infomax(Objective):
    """Discriminates by v · (W s) whether an atom's vector v belongs to the graph with the summary s.

    s is the sigmoid of the mean of the graph's atom vectors. Each atom is paired with the summary of its own graph and
    with that of the next graph of the batch; the first graph follows the last. W is initialized uniformly in ±1/√width.
    """

    can_widen = False  # the sigmoid of 0 is not 0

    def __init__(self, model: Model, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self._ranks = ranks
        self.encoder = make_encoder(model)
        self.bilinear = nn.Linear(self.encoder.width, self.encoder.width, bias=False)
        share_statistics(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:  # noqa: ARG002
        """Return `positives` and `negatives` of `discrimination`. They need no random numbers."""
        batch, share = step.batch, self._ranks.share(step.anchors)
        atoms = self.encoder(batch)
        summaries = self.bilinear(graph_mean(atoms, batch).sigmoid())
        all_summaries = self._ranks.rows(summaries, share.start, step.anchors)
        positives, negatives = (
            products(atoms, per_atom(of_graph, batch))
            for of_graph in (all_summaries[share], all_summaries.roll(-1, 0)[share])
        )
        return discrimination(
            positives, negatives, self._ranks, None if batch.padding is None else batch.padding.is_atom
        )
