"""Context_Pred: matching of substructures and contexts (Hu et al., 2020; method.md E5; docs/training.md)."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from graphkin.trainer.model.aggregation import graph_sum
from graphkin.trainer.model.batch import Batch
from graphkin.trainer.model.norm import share_statistics
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Context, Model
from graphkin.trainer.pretraining.discrimination import discrimination, products
from graphkin.trainer.pretraining.objective import Objective, Step, make_encoder


class ContextPrediction(Objective):
    """Discriminates by a dot product whether a substructure and a context surround the same center atom.

    A center is sampled uniformly from each graph's atoms. Its substructure and its context are the rings of `Context`,
    which overlap, and each is encoded as a graph of its own. The encoder provides the vector of the center in its
    substructure. A second encoder, which is dropped after training, provides the mean vector of the overlap's atoms in
    the context. Each center is paired with its own context and with that of the next center of the batch; the first
    center follows the last.

    Centers without a context are left out and not encoded. With fewer than two centers, the loss and its gradient are
    0.
    """

    def __init__(self, model: Model, context: Context, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self._context = context
        self._ranks = ranks
        self.encoder = make_encoder(model)
        self.context_encoder = make_encoder(replace(model, layers=context.layers))
        share_statistics(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:  # noqa: ARG002
        """Return `positives` and `negatives` of `discrimination`. The generator samples the centers of all ranks."""
        ranks, own = self._ranks, self._ranks.share(step.anchors)
        batch = step.batch.first(own.stop - own.start)
        uniform = torch.rand(step.anchors, dtype=torch.float64, device=batch.graph.device, generator=generator)
        rings = Rings.from_batch(batch, self._context, uniform[own])
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
        """Return the vectors of the centers, each in its substructure, (K, D)."""
        places = rings.substructure.cumsum(0) - 1
        vectors: Tensor = self.encoder(batch.induced(rings.substructure))
        return vectors[places[rings.centres]]

    def _contexts(self, batch: Batch, rings: "Rings") -> Tensor:
        """Return the mean vectors of the overlaps, (K, D)."""
        vectors = self.context_encoder(batch.induced(rings.context))[rings.overlap[rings.context]]
        counts = torch.bincount(batch.graph[rings.overlap], minlength=batch.graphs)[rings.kept]
        pointer = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return graph_sum(vectors, torch.repeat_interleave(counts), pointer) / counts.unsqueeze(1)


@dataclass(frozen=True, eq=False)
class Rings:
    """Atoms around the centers of a batch of B graphs with N atoms.

    Attributes:
        kept: (B,) bool. Whether a graph's center has a context. All other attributes cover only these K graphs.
        centres: (K,) Center atoms.
        substructure: (N,) bool. Atoms of the substructures.
        context: (N,) bool. Atoms of the contexts.
        overlap: (N,) bool. Atoms of both.
    """

    kept: Tensor
    centres: Tensor
    substructure: Tensor
    context: Tensor
    overlap: Tensor

    @classmethod
    def from_batch(cls, batch: Batch, context: Context, uniform: Tensor) -> "Rings":
        """Choose centers and find the atoms around them.

        The center of a graph of n atoms is its atom floor(n * uniform[g]), where uniform is (B,) float64 in [0, 1).
        """
        centres = batch.atom_ptr[:-1] + (uniform * batch.atom_ptr.diff()).long()
        distance = distances(batch, centres, max(context.hops, context.outer))
        inside, around = distance <= context.hops, (distance > context.inner) & (distance <= context.outer)
        overlap = inside & around
        kept = torch.bincount(batch.graph[overlap], minlength=batch.graphs) > 0
        of_kept = kept[batch.graph]
        return cls(kept, centres[kept], inside & of_kept, around & of_kept, overlap)


def distances(batch: Batch, centres: Tensor, most: int) -> Tensor:
    """Return the distance in bonds of each atom from the center of its graph, (N,); most + 1 for all farther atoms.

    `centres` is (B,).
    """
    source, target = batch.edge_index
    distance = torch.full_like(batch.graph, most + 1)
    distance[centres] = 0
    for hop in range(1, most + 1):
        reached = target[distance[source] == hop - 1]
        distance[reached] = distance[reached].clamp_max(hop)
    return distance
