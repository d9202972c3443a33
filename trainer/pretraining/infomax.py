"""Infomax: which atoms are of which graph (Velickovic et al., 2019, as Hu et al., 2020, pre-train with it)."""

import torch
from torch import Tensor, nn

from graphkin.trainer.model.encoders import graph_mean
from graphkin.trainer.model.norm import spread
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.discrimination import discrimination, products
from graphkin.trainer.pretraining.objective import Objective, Step, make_encoder


class Infomax(Objective):
    """v · (W s) tells whether an atom's vector v is of the graph with the summary s = σ(mean of its atoms' vectors).

    Each atom is compared with the summary of its own graph, and with that of the next graph of the batch, the first
    coming after the last. W begins uniform in ±1/√width.
    """

    def __init__(self, model: Model, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self._ranks = ranks
        self.encoder = make_encoder(model)
        self.bilinear = nn.Linear(model.width, model.width, bias=False)
        spread(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:  # noqa: ARG002
        """`positives` and `negatives`, as `discrimination`; nothing in it is random."""
        atoms, own = self.encoder(step.batch), self._ranks.share(step.anchors)
        summaries = self.bilinear(graph_mean(atoms, step.batch).sigmoid())
        everyones = self._ranks.rows(summaries, own.start, step.anchors)
        positives, negatives = (
            products(atoms, of_graph[step.batch.graph]) for of_graph in (everyones[own], everyones.roll(-1, 0)[own])
        )
        return discrimination(positives, negatives, self._ranks)
