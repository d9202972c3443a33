"""Context_Pred: which surroundings are whose (Hu et al., 2020; docs/training.md)."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from graphkin.trainer.model.aggregation import graph_sum
from graphkin.trainer.model.batch import Batch
from graphkin.trainer.model.norm import spread
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Context, Model
from graphkin.trainer.pretraining.discrimination import discrimination, products
from graphkin.trainer.pretraining.objective import Objective, Step, make_encoder


class ContextPrediction(Objective):
    """The dot product of two vectors tells whether a substructure and a context are of the same centre atom.

    A centre is drawn uniformly from each graph's atoms. Its substructure and its context are rings around it, as
    `Context` says, and graphs of their own; they overlap. The encoder encodes the substructure, and gives the vector of
    the centre in it. A second encoder, which is not kept for later, encodes the context; the vector is the mean of its
    vectors of the atoms of the overlap. Each centre is compared with its own context, and with that of the next centre
    of the batch, the first coming after the last.

    Centres that see no context are left out, and not encoded. Of fewer than two nothing can be told: the loss is 0, and
    so is its gradient.
    """

    def __init__(self, model: Model, context: Context, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self._context = context
        self._ranks = ranks
        self.encoder = make_encoder(model)
        self.context_encoder = make_encoder(replace(model, layers=context.layers))
        spread(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:  # noqa: ARG002
        """`positives` and `negatives`, as `discrimination`. The generator draws the centres, those of all ranks."""
        ranks, own = self._ranks, self._ranks.share(step.anchors)
        batch = step.batch.first(own.stop - own.start)
        uniform = torch.rand(step.anchors, dtype=torch.float64, device=batch.graph.device, generator=generator)
        rings = Rings.of(batch, self._context, uniform[own])
        kept = ranks.rows(rings.kept.double(), own.start, step.anchors)
        total, before = int(kept.sum()), int(kept[: own.start].sum())
        if total < 2:
            nothing = torch.stack([parameter.sum() for parameter in self.parameters()]).sum() * 0
            return {"positives": nothing, "negatives": nothing, "loss": nothing}
        centres, contexts = self._centres(batch, rings), ranks.rows(self._contexts(batch, rings), before, total)
        mine = slice(before, before + len(centres))
        positives, negatives = (products(centres, each[mine]) for each in (contexts, contexts.roll(-1, 0)))
        return discrimination(positives, negatives, ranks)

    def _centres(self, batch: Batch, rings: "Rings") -> Tensor:
        """(K, D): the vectors of the centres, each in its substructure."""
        places = rings.substructure.cumsum(0) - 1
        vectors: Tensor = self.encoder(batch.induced(rings.substructure))
        return vectors[places[rings.centres]]

    def _contexts(self, batch: Batch, rings: "Rings") -> Tensor:
        """(K, D): the means over the overlaps."""
        vectors = self.context_encoder(batch.induced(rings.context))[rings.overlap[rings.context]]
        counts = torch.bincount(batch.graph[rings.overlap], minlength=batch.graphs)[rings.kept]
        pointer = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return graph_sum(vectors, torch.repeat_interleave(counts), pointer) / counts.unsqueeze(1)


@dataclass(frozen=True, eq=False)
class Rings:
    """What lies around the centres of a batch, (B,) graphs with (N,) atoms.

    kept     (B,) bool  whether a graph's centre sees a context; the rest is of these K graphs alone
    centres  (K,)       their atoms
    substructure, context, overlap  (N,) bool  which atoms are of it; the overlap is what the others share
    """

    kept: Tensor
    centres: Tensor
    substructure: Tensor
    context: Tensor
    overlap: Tensor

    @classmethod
    def of(cls, batch: Batch, context: Context, uniform: Tensor) -> "Rings":
        """The centre of graph g, of n atoms, is its atom floor(n * uniform[g]); uniform (B,) float64 in [0, 1)."""
        centres = batch.atom_ptr[:-1] + (uniform * batch.atom_ptr.diff()).long()
        distance = distances(batch, centres, max(context.hops, context.outer))
        inside, around = distance <= context.hops, (distance > context.inner) & (distance <= context.outer)
        overlap = inside & around
        kept = torch.bincount(batch.graph[overlap], minlength=batch.graphs) > 0
        of_kept = kept[batch.graph]
        return cls(kept, centres[kept], inside & of_kept, around & of_kept, overlap)


def distances(batch: Batch, centres: Tensor, most: int) -> Tensor:
    """(N,): how many bonds each atom is from the centre of its graph, centres (B,); most + 1 for all farther ones."""
    source, target = batch.edge_index
    distance = torch.full_like(batch.graph, most + 1)
    distance[centres] = 0
    for hop in range(1, most + 1):
        reached = target[distance[source] == hop - 1]
        distance[reached] = distance[reached].clamp_max(hop)
    return distance
