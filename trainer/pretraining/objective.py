"""What a step is given, and what it minimises: the port that `joint.py`, `moco.py` and the baselines implement
(docs/training.md)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphkin.trainer.model.batch import Batch, Graphs
from graphkin.trainer.model.encoders import Encoder
from graphkin.trainer.model.inputs import AtomInputs, NodeInputs
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Model


@dataclass(frozen=True, eq=False)
class Draw:
    """The ids of one step.

    anchors    (B,), none of them isolated if there are positives
    positives  (B, S), S = 0 for strategies without
    negatives  (M,) shared by all anchors; M = 0: the other anchors' positives serve, or a queue
    epoch      which it is of
    """

    anchors: NDArray[np.int32]
    positives: NDArray[np.int32]
    negatives: NDArray[np.int32]
    epoch: int = 0

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
        shared = ranks.share(len(self.negatives))
        return Draw(self.anchors[own], self.positives[own], self.negatives[shared], self.epoch)


@dataclass(frozen=True, eq=False)
class Step:
    """A draw, ready to be trained on.

    batch     of `Draw.ids` of this rank's share
    kin       the ids of the whole draw in that order, as the contrast compares them: of the lowest twins
              (`hgc.twins`) where these are known
    anchors, slots, negatives  B, S and M of the whole draw
    everyone  gives the anchors of all ranks
    """

    batch: Batch
    kin: Tensor
    anchors: int
    slots: int
    negatives: int
    everyone: Callable[[], Batch]

    @classmethod
    def of(cls, draw: Draw, graphs: Graphs, twins: NDArray[np.int64] | None = None, ranks: Ranks = ALONE) -> "Step":
        batch = graphs.batch(draw.share(ranks).ids(), draw.epoch)
        sizes = len(draw.anchors), draw.positives.shape[1], len(draw.negatives)
        ids = draw.ids().astype(np.int64)
        kin = torch.from_numpy(ids if twins is None else twins[ids]).to(graphs.device, non_blocking=True)

        def everyone() -> Batch:
            return batch.first(sizes[0]) if ranks.size == 1 else graphs.batch(draw.anchors, draw.epoch)

        return cls(batch, kin, *sizes, everyone)


class Objective(nn.Module, ABC):
    """The encoder with what its pre-training strategy puts on it, and what that remembers from step to step.

    encoder  what is pre-trained; checkpoints know it by this name.

    Its parameters and buffers are all that a checkpoint keeps of it: restored, it goes on as if it had never ended.
    """

    encoder: Encoder

    @abstractmethod
    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:
        """The losses of the whole draw by name, and `loss`, their sum. The generator draws what is random.

        With `measure` also alignment and uniformity of what was contrasted, where something is: of the anchors to
        their positives, and of the anchors.
        """

    def trained(self) -> dict[str, nn.Parameter]:
        """What the optimizer moves, by name: every parameter that takes a gradient."""
        return {name: parameter for name, parameter in self.named_parameters() if parameter.requires_grad}

    def free(self) -> list[nn.Parameter]:
        """Those of them that no schedule slows and no norm cuts. By default none."""
        return []

    def after_step(self) -> None:
        """Called when the optimizer has moved the parameters, once for every forward in training."""


def make_encoder(model: Model) -> Encoder:
    inputs = AtomInputs(model.width) if model.nodes is None else NodeInputs(model.width, **asdict(model.nodes))
    return Encoder(model.encoder, model.layers, model.width, model.dropout, inputs)
