"""The port between the training loop and objectives, which `joint.py`, `moco.py` and the baselines implement.

See docs/reference/training.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.encoder_registry import BUILT_IN, encoder_package, load_factory
from graphkin.trainer.model.batch import Batch, Graphs, Part
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.encoders import ConvolutionalEncoder
from graphkin.trainer.model.gcc import GccEncoder
from graphkin.trainer.model.inputs import AttributeInputs, NodeFeatures, NodeInputs
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.strategy import NODE_ENCODERS


@dataclass(frozen=True, eq=False)
class Draw:
    """The ids of one step's samples.

    Attributes:
        anchors: (B,) int32. None of them is isolated if there are positives.
        positives: (B, S) int32. S is 0 for strategies without positives.
        negatives: (M,) int32, shared by all anchors. With M = 0, the other anchors' positives or a queue are the
            negatives.
        epoch: Number of the epoch.
    """

    anchors: NDArray[np.int32]
    positives: NDArray[np.int32]
    negatives: NDArray[np.int32]
    epoch: int = 0

    def ids(self) -> NDArray[np.int32]:
        """Return all ids in the order of a step's batch: anchors, positives slot by slot, negatives."""
        return np.concatenate([self.anchors, self.positives.T.reshape(-1), self.negatives])

    @property
    def graphs(self) -> int:
        """The number of graphs to encode, counting repetitions."""
        return len(self.anchors) + self.positives.size + len(self.negatives)

    def share(self, ranks: Ranks) -> "Draw":
        """Return the part that this rank encodes."""
        anchor_share = ranks.share(len(self.anchors))
        negative_share = ranks.share(len(self.negatives))
        return Draw(
            self.anchors[anchor_share], self.positives[anchor_share], self.negatives[negative_share], self.epoch
        )


@dataclass(frozen=True, eq=False)
class Step:
    """The samples of one step, ready for training.

    Attributes:
        kin: Ids of the samples of all ranks, in the order of `Draw.ids`, by which a contrastive loss recognizes equal
            items. If twins are known, each id is replaced by that of the lowest twin (`hgc.twins`).
        anchors: B, the number of anchors of all ranks.
        slots: S, the number of positives of each anchor.
        negatives: M, the number of shared negatives of all ranks.
        whole: Returns the graphs of `Draw.ids` of this rank's share.
        first: Returns the anchors of this rank's share.
        rest: Returns all other graphs of this rank's share.
        everyone: Returns the anchors of all ranks.
    """

    kin: Tensor
    anchors: int
    slots: int
    negatives: int
    whole: Callable[[], Batch]
    first: Callable[[], Batch]
    rest: Callable[[], Batch]
    everyone: Callable[[], Batch]

    @cached_property
    def batch(self) -> Batch:
        """The graphs of `Draw.ids` of this rank's share."""
        return self.whole()

    @classmethod
    def from_draw(
        cls, draw: Draw, graphs: Graphs, twins: NDArray[np.int64] | None = None, ranks: Ranks = ALONE
    ) -> "Step":
        batch = graphs.batch(draw.share(ranks).ids(), draw.epoch)
        sizes = len(draw.anchors), draw.positives.shape[1], len(draw.negatives)
        ids = draw.ids().astype(np.int64)
        kin = torch.from_numpy(ids if twins is None else twins[ids]).to(graphs.device, non_blocking=True)
        share = ranks.share(sizes[0])
        count = share.stop - share.start

        def everyone() -> Batch:
            return batch.first(sizes[0]) if ranks.size == 1 else graphs.batch(draw.anchors, draw.epoch)

        return cls(kin, *sizes, lambda: batch, lambda: batch.first(count), lambda: batch.rest(count), everyone)

    @classmethod
    def from_tensors(
        cls,
        anchors: Tensor,
        positives: Tensor,
        negatives: Tensor,
        batch_of: Callable[[Part, Tensor], Batch],
        twins: Tensor | None = None,
    ) -> "Step":
        """Return a step whose ids are on the device: anchors (B,), positives (B, S) and negatives (M,).

        Args:
            anchors: (B,) int64.
            positives: (B, S) int64.
            negatives: (M,) int64.
            batch_of: Returns the batch of a part, given the ids of its items. Only called for parts that are used.
            twins: (N,) int64. `hgc.twins` of all items; None if unknown.
        """
        others = torch.cat([positives.T.reshape(-1), negatives])
        ids = torch.cat([anchors, others])
        first = cache(lambda: batch_of("anchors", anchors))
        return cls(
            ids if twins is None else twins.index_select(0, ids),
            len(anchors),
            positives.shape[1],
            len(negatives),
            lambda: batch_of("whole", ids),
            first,
            lambda: batch_of("others", others),
            first,
        )


class Objective(nn.Module, ABC):
    """An encoder with the loss of its pre-training strategy, and the state that the strategy keeps between steps.

    State:
        Parameters and buffers are the whole state. A checkpoint stores them, and a restored objective continues as if
        it had not been interrupted.

    Attributes:
        encoder: The encoder to pre-train. Checkpoints refer to it by this name.
        parts: The batches of a step that `forward` uses.
        can_widen: Whether columns of zeros stay zero in training, which `widening` relies on.
    """

    encoder: Encoder
    parts: Sequence[Part] = ("whole",)
    can_widen = True

    @abstractmethod
    def forward(self, step: Step, generator: torch.Generator, measure: bool = False) -> dict[str, Tensor]:
        """Return the losses over all ranks by name, and their sum `loss`.

        All random numbers come from the generator, except those of dropout. With `measure`, contrastive objectives also
        return alignment, of anchors and their positives, and uniformity, of anchors.
        """

    def trainable_parameters(self) -> dict[str, nn.Parameter]:
        """Return the parameters that the optimizer updates, by name: all that require a gradient."""
        return {name: parameter for name, parameter in self.named_parameters() if parameter.requires_grad}

    def start_from(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the initial weights of the encoder, by name, before training begins."""
        self.encoder.load_state_dict(weights)

    def after_step(self) -> None:
        """Update state after an optimizer step. It is called once for every forward pass in training."""


def make_encoder(model: Model) -> Encoder:
    """Return a new encoder, whose random weights come from torch's default generator.

    An encoder of an installed package is the result of calling its class or function with `model`.

    Raises:
        InvalidInput: The package of the encoder is not installed, cannot be imported, or returns no `Encoder`.
    """
    if model.encoder not in BUILT_IN:
        return _make_installed_encoder(model)
    if model.encoder in NODE_ENCODERS:
        assert model.nodes is not None, "Model checks this"
        return GccEncoder(
            model.layers, model.width, model.dropout, NodeFeatures(**asdict(model.nodes), has_unit_rows=True)
        )
    inputs: nn.Module | None = None
    if model.nodes is not None:
        inputs = NodeInputs(model.width, **asdict(model.nodes))
    elif model.attributes:
        inputs = AttributeInputs(model.width, model.attributes)
    return ConvolutionalEncoder(model.encoder, model.layers, model.width, model.dropout, inputs, model.features)


def _make_installed_encoder(model: Model) -> Encoder:
    encoder = load_factory(model.encoder)(model)
    if isinstance(encoder, Encoder):
        return encoder
    package = encoder_package(model.encoder)
    assert package is not None
    raise InvalidInput(
        "the class or function of an encoder returns something else than an encoder",
        given=f"{type(encoder).__name__}, from {model.encoder} of the package {package.distribution}",
        expected="an instance of a subclass of graphkin.trainer.model.encoder.Encoder",
        hint=f"update the package {package.distribution}",
    )
