"""Context_Pred: matching of substructures and contexts (Hu et al., 2020; method.md E5; docs/reference/training.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from graphkin.trainer.model.aggregation import graph_sum
from graphkin.trainer.model.batch import Batch, Part, compaction, inverse
from graphkin.trainer.model.encoder import per_atom
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

    parts: Sequence[Part] = ("anchors",)

    def __init__(self, model: Model, context: Context, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self._context = context
        self._ranks = ranks
        self.encoder = make_encoder(model)
        self.context_encoder = make_encoder(replace(model, layers=context.layers))
        share_statistics(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:  # noqa: ARG002
        """Return `positives` and `negatives` of `discrimination`. The generator samples the centers of all ranks."""
        ranks, share = self._ranks, self._ranks.share(step.anchors)
        batch = step.first()
        uniform = torch.rand(step.anchors, dtype=torch.float64, device=batch.graph.device, generator=generator)
        rings = Rings.from_batch(batch, self._context, uniform[share])
        if batch.padding is not None:
            return self._padded_losses(batch, rings)
        has_context = ranks.rows(rings.has_context.double(), share.start, step.anchors)
        total, offset = int(has_context.sum()), int(has_context[: share.start].sum())
        if total < 2:
            zero = torch.stack([parameter.sum() for parameter in self.parameters()]).sum() * 0
            return {"positives": zero, "negatives": zero, "loss": zero}
        centers, contexts = (
            self._embed_centers(batch, rings),
            ranks.rows(self._embed_contexts(batch, rings), offset, total),
        )
        own_rows = slice(offset, offset + len(centers))
        positives, negatives = (products(centers, each[own_rows]) for each in (contexts, contexts.roll(-1, 0)))
        return discrimination(positives, negatives, ranks)

    def _padded_losses(self, batch: Batch, rings: "Rings") -> dict[str, Tensor]:
        """Return the losses of a padded batch of one rank, where centers without a context count nowhere."""
        has_context = rings.has_context
        centers, contexts = self._embed_centers(batch, rings), self._embed_contexts(batch, rings)
        place = compaction(has_context)
        following = inverse(place).index_select(0, (place + 1) % has_context.sum().clamp_min(1))
        positives, negatives = (products(centers, each) for each in (contexts, contexts.index_select(0, following)))
        return discrimination(positives, negatives, is_pair=has_context & (has_context.sum() > 1))

    def _embed_centers(self, batch: Batch, rings: "Rings") -> Tensor:
        """Return the vectors of the centers, each in its substructure, (K, D)."""
        vectors: Tensor = self.encoder(batch.induced(rings.substructure))
        return vectors[compaction(rings.substructure)[rings.centers]]

    def _embed_contexts(self, batch: Batch, rings: "Rings") -> Tensor:
        """Return the mean vectors of the overlaps, (K, D)."""
        if batch.padding is not None:
            places = compaction(rings.context)
            overlap = self.context_encoder(batch.induced(rings.context))[places] * rings.overlap.unsqueeze(1)
            sums = graph_sum(overlap, batch.graph, batch.atom_ptr)[: batch.graphs]
            return sums / _counts(rings.overlap, batch).clamp_min(1).unsqueeze(1)
        vectors = self.context_encoder(batch.induced(rings.context))[rings.overlap[rings.context]]
        counts = torch.bincount(batch.graph[rings.overlap], minlength=batch.graphs)[rings.has_context]
        pointer = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return graph_sum(vectors, torch.repeat_interleave(counts), pointer) / counts.unsqueeze(1)


@dataclass(frozen=True, eq=False)
class Rings:
    """Atoms around the centers of a batch of B graphs with N atoms.

    Attributes:
        has_context: (B,) bool. Whether a graph's center has a context. All other attributes cover only these K graphs.
        centers: (K,) Center atoms; (B,) of a padded batch, where those of other graphs have no meaning.
        substructure: (N,) bool. Atoms of the substructures.
        context: (N,) bool. Atoms of the contexts.
        overlap: (N,) bool. Atoms of both.
    """

    has_context: Tensor
    centers: Tensor
    substructure: Tensor
    context: Tensor
    overlap: Tensor

    @classmethod
    def from_batch(cls, batch: Batch, context: Context, uniform: Tensor) -> "Rings":
        """Choose centers and find the atoms around them.

        The center of a graph of n atoms is its atom floor(n * uniform[g]), where uniform is (B,) float64 in [0, 1).
        """
        first = batch.atom_ptr[: batch.graphs]
        centers = first + (uniform * (batch.atom_ptr[1 : batch.graphs + 1] - first)).long()
        distance = distances(batch, centers, max(context.hops, context.outer))
        inside, around = distance <= context.hops, (distance > context.inner) & (distance <= context.outer)
        overlap = inside & around
        has_context = _counts(overlap, batch) > 0
        atom_has_context = per_atom(has_context, batch)
        if batch.padding is None:
            centers = centers[has_context]
        return cls(has_context, centers, inside & atom_has_context, around & atom_has_context, overlap)


def distances(batch: Batch, centers: Tensor, max_distance: int) -> Tensor:
    """Return the distance in bonds of each atom from the center of its graph, (N,).

    `centers` is (B,). Atoms farther than `max_distance` get max_distance + 1.
    """
    source, target = batch.edge_index
    distance = torch.full_like(batch.graph, max_distance + 1)
    distance.index_fill_(0, centers, 0)
    for _ in range(max_distance):
        distance = distance.scatter_reduce(0, target, distance[source] + 1, "amin")
    return distance


def _counts(atoms: Tensor, batch: Batch) -> Tensor:
    """Return the number of `atoms`, (N,) bool, in each graph: (B,)."""
    counts = batch.graph.new_zeros(len(batch.atom_ptr) - 1).index_add_(0, batch.graph, atoms.long())
    return counts[: batch.graphs]
