"""Momentum contrast (He et al., 2020; Qiu et al., 2020: GCC; docs/training.md, "Nodes of big graphs")."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from graphkin.trainer.model.batch import Batch
from graphkin.trainer.model.encoders import Encoder
from graphkin.trainer.model.norm import spread
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Contrast, Model, Momentum
from graphkin.trainer.pretraining.hgc import EdgeSet, queue_loss, shared_mask, unit
from graphkin.trainer.pretraining.metrics import measures
from graphkin.trainer.pretraining.objective import Objective, Step, make_encoder

_NOBODY = -1


class Queue(nn.Module):
    """The last K keys, unit vectors (K, D), and whose they are: (K,) ids, -1 where there is no key yet."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.keys: Tensor
        self.kin: Tensor
        self.oldest: Tensor
        self.register_buffer("keys", torch.zeros(size, width))
        self.register_buffer("kin", torch.full((size,), _NOBODY))
        self.register_buffer("oldest", torch.zeros((), dtype=torch.long))

    def push(self, keys: Tensor, kin: Tensor) -> None:
        """Put keys (B, D), at most K, in the place of the oldest."""
        places = (self.oldest + torch.arange(len(kin), device=kin.device)) % len(self.kin)
        self.keys[places] = keys
        self.kin[places] = kin
        self.oldest.copy_((self.oldest + len(kin)) % len(self.kin))


class MoCo(Objective):
    """An anchor's query against the key of its one positive and those of a queue, which are of earlier steps.

    Keys are made by an encoder that no gradient reaches: after each step its parameters become m times their own plus
    1 - m times those of the encoder. Its buffers are not copied. They are the running statistics of batch
    normalisation, which describe what its own layers are given; and it normalises by the batch, so nothing reads them.

    Keys of the anchor itself, of its positive, and of items that are as good as either are no negatives.
    Places of the queue that are still empty are masked too: nothing is made up to fill them, so the first step, which
    meets an empty queue, has loss 0.

    edges: of the hierarchy, for `Contrast.mask_neighbors`.
    """

    def __init__(
        self,
        model: Model,
        contrast: Contrast,
        momentum: Momentum,
        edges: EdgeSet | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        super().__init__()
        self._contrast = contrast
        self._momentum = momentum
        self._edges = edges
        self._ranks = ranks
        self.encoder = make_encoder(model)
        self.key_encoder = deepcopy(self.encoder).requires_grad_(requires_grad=False)
        self.queue = Queue(momentum.queue, model.width)
        self._made: tuple[Tensor, Tensor] | None = None
        spread(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:  # noqa: ARG002
        """`moco` alone; nothing in it is random."""
        own = self._ranks.share(step.anchors)
        count = own.stop - own.start
        queries = self._embedded(self.encoder, step.batch.first(count), own.start, step.anchors)
        with torch.no_grad():
            keys = self._embedded(self.key_encoder, step.batch.rest(count), own.start, step.anchors)
        anchor, positive = step.kin.view(2, step.anchors)
        loss = queue_loss(queries, keys, self.queue.keys, self._contrast.temperature, self._mask(anchor, positive))
        self._made = keys, positive
        return {"moco": loss, "loss": loss, **(measures(queries, keys.unsqueeze(0)) if measure else {})}

    @torch.no_grad()
    def after_step(self) -> None:
        for key, query in zip(self.key_encoder.parameters(), self.encoder.parameters(), strict=True):
            key.lerp_(query, 1 - self._momentum.momentum)
        if self._made is not None:
            self.queue.push(*self._made)
            self._made = None

    def _embedded(self, encoder: Encoder, batch: Batch, start: int, count: int) -> Tensor:
        """(count, D): unit vectors of the graphs of all ranks, those of this one beginning at `start`."""
        return self._ranks.rows(unit(encoder.graphs(batch)), start, count)

    def _mask(self, anchor: Tensor, positive: Tensor) -> Tensor:
        """(B, K): which of the queue are no negatives."""
        edges = None
        if self._contrast.mask_neighbors:
            edges = self._edges or EdgeSet.sampled(anchor, positive.unsqueeze(0))
        mask = shared_mask(anchor, positive.unsqueeze(0), self.queue.kin, edges)
        return mask | (self.queue.kin == _NOBODY)
