"""Momentum contrast (MoCo: He et al., 2020; GCC: Qiu et al., 2020; method.md C; docs/reference/training.md)."""

from collections.abc import Mapping, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from graphkin.trainer.model.batch import Batch, Part
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.norm import share_statistics
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Contrast, Model, Momentum
from graphkin.trainer.pretraining.hgc import EdgeSet, queue_loss, shared_mask, unit
from graphkin.trainer.pretraining.metrics import measures
from graphkin.trainer.pretraining.objective import Objective, Step, make_encoder

_EMPTY = -1


class Queue(nn.Module):
    """The last K keys, unit vectors (K, D) float32, and the ids of their items, (K,) int64, -1 for empty places."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.keys: Tensor
        self.kin: Tensor
        self.oldest: Tensor
        self.register_buffer("keys", torch.zeros(size, width))
        self.register_buffer("kin", torch.full((size,), _EMPTY))
        self.register_buffer("oldest", torch.zeros((), dtype=torch.long))

    def push(self, keys: Tensor, kin: Tensor) -> None:
        """Replace the oldest keys by `keys` (B, D), B ≤ K, of the items `kin` (B,)."""
        places = (self.oldest + torch.arange(len(kin), device=kin.device)) % len(self.kin)
        self.keys[places] = keys
        self.kin[places] = kin
        self.oldest.copy_((self.oldest + len(kin)) % len(self.kin))


class MoCo(Objective):
    """Contrast of an anchor's query with the key of its one positive and with a queue of keys of earlier steps.

    A second encoder, which gets no gradients, computes the keys. After each step its parameters become m times their
    own plus 1 - m times those of the encoder. Its buffers are not copied: they are running statistics of batch
    normalization, which describe the inputs of its own layers, and nothing reads them because it normalizes by the
    batch.

    Keys of the anchor, of its positive, and of items of similarity 1 to either are no negatives. Empty places of the
    queue are masked as well, so the first step, which meets an empty queue, has loss 0.

    Args:
        model: Architecture of the encoder.
        contrast: Options of the contrast.
        momentum: Options of the queue.
        edges: Edges of the similarity graph, for `Contrast.mask_neighbors`.
        ranks: The processes that train together.
    """

    parts: Sequence[Part] = ("anchors", "others")

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
        self.queue = Queue(momentum.queue, self.encoder.width)
        self._new_keys: tuple[Tensor, Tensor] | None = None
        share_statistics(self, ranks)

    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:  # noqa: ARG002
        """Return the loss `moco`. It needs no random numbers."""
        share = self._ranks.share(step.anchors)
        queries = self._embed(self.encoder, step.first(), share.start, step.anchors)
        with torch.no_grad():
            keys = self._embed(self.key_encoder, step.rest(), share.start, step.anchors)
        anchor, positive = step.kin.view(2, step.anchors)
        loss = queue_loss(queries, keys, self.queue.keys, self._contrast.temperature, self._mask(anchor, positive))
        self._new_keys = keys, positive
        return {"moco": loss, "loss": loss, **(measures(queries, keys.unsqueeze(0)) if measure else {})}

    def start_from(self, weights: Mapping[str, Tensor]) -> None:
        super().start_from(weights)
        self.key_encoder.load_state_dict(weights)

    @torch.no_grad()
    def after_step(self) -> None:
        for key, query in zip(self.key_encoder.parameters(), self.encoder.parameters(), strict=True):
            key.lerp_(query, 1 - self._momentum.momentum)
        if self._new_keys is not None:
            self.queue.push(*self._new_keys)
            self._new_keys = None

    def _embed(self, encoder: Encoder, batch: Batch, start: int, count: int) -> Tensor:
        """Return unit vectors of the graphs of all ranks, (count, D). This rank's rows begin at `start`."""
        return self._ranks.rows(unit(encoder.graphs(batch)), start, count)

    def _mask(self, anchor: Tensor, positive: Tensor) -> Tensor:
        """Return which keys of the queue are no negatives of each anchor, (B, K) bool."""
        edges = None
        if self._contrast.mask_neighbors:
            edges = self._edges or EdgeSet.from_samples(anchor, positive.unsqueeze(0))
        mask = shared_mask(anchor, positive.unsqueeze(0), self.queue.kin, edges)
        return mask | (self.queue.kin == _EMPTY)
