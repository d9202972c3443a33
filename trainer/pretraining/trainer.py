"""The model, its optimizer, and the training step (docs/reference/training.md)."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphkin.protocol.errors import Damaged
from graphkin.trainer.model.batch import Graphs
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.baselines import baseline
from graphkin.trainer.pretraining.checkpoint import Checkpoint
from graphkin.trainer.pretraining.clock import Clock
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.hgc import EdgeSet
from graphkin.trainer.pretraining.joint import JointObjective
from graphkin.trainer.pretraining.metrics_log import not_finite
from graphkin.trainer.pretraining.moco import MoCo
from graphkin.trainer.pretraining.objective import Draw, Objective, Step
from graphkin.trainer.pretraining.widening import narrow, widen, widened

_MASKS, _DROPOUT = 1, 2  # streams of random numbers; every rank has its own stream for dropout
_ADAM = ("step", "exp_avg", "exp_avg_sq")  # Adam's state of each parameter


def make_objective(config: PretrainConfig, edges: EdgeSet | None = None, ranks: Ranks = ALONE) -> Objective:
    """Return the objective that the options select, with new weights from torch's seed."""
    contrast = config.contrast
    if contrast is not None and contrast.momentum is not None:
        return MoCo(config.model, contrast, contrast.momentum, edges, ranks)
    if config.task is not None:
        return baseline(config.model, config.task, ranks)
    return JointObjective(config, edges, ranks)


def _seed(*key: int) -> int:
    """Return a seed for torch, which accepts 63 bits."""
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0]) >> 1


class Trainer:
    """The model, its optimizer, and the training step."""

    def __init__(
        self,
        config: PretrainConfig,
        graphs: Graphs,
        twins: NDArray[np.int64] | None = None,
        edges: EdgeSet | None = None,
        ranks: Ranks = ALONE,
        *,
        is_rate_on_device: bool = False,
        is_wide: bool = False,
    ) -> None:
        """Create the model, with weights from the seed of the options.

        Args:
            config: Options of the run.
            graphs: Source of the graphs.
            twins: (N,) `hgc.twins` of all items; None if unknown.
            edges: Edges of the similarity graph, for `Contrast.mask_neighbors`.
            ranks: The processes that train together.
            is_rate_on_device: Whether the learning rate is a tensor, `rate`, so that `update` can be captured.
            is_wide: Whether to compute with a widened model (`widening`), if the objective allows it. Checkpoints hold
                the narrow model.
        """
        self.config = config
        self.graphs = graphs
        self.twins = twins
        self.ranks = ranks
        self.device = graphs.device
        self.generator = torch.Generator(self.device)
        torch.manual_seed(config.draws.seed)
        self.objective = make_objective(config, edges, ranks)
        self._shapes = {name: value.shape for name, value in self.objective.state_dict().items()}
        if is_wide and self.objective.can_widen and self.objective.encoder.can_widen:
            narrow_state = self.objective.state_dict()
            self.objective = make_objective(widened(config), edges, ranks)
            self._load(narrow_state)
        self.objective.to(self.device)
        self._parameters = self.objective.trainable_parameters()
        options = config.optimization
        self._optimizer = torch.optim.Adam(
            self._parameters.values(),
            lr=options.learning_rate,
            betas=options.betas,
            weight_decay=options.weight_decay,
            fused=True,
            capturable=is_rate_on_device and self.device.type == "cuda",
        )
        self.rate: Tensor | None = None
        if is_rate_on_device:
            self.rate = torch.tensor(options.learning_rate, device=self.device)
            self._optimizer.param_groups[0]["lr"] = self.rate
        if self.device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TF32

    def step(self, step: int, rate: float, draw: Draw, clock: Clock, measure: bool = False) -> Mapping[str, Tensor]:
        """Update the model once at this learning rate.

        Return the losses before the update, and the objective's measures.
        """
        self.seed(step)
        inputs = clock.wait(lambda: Step.from_draw(draw, self.graphs, self.twins, self.ranks))
        self._optimizer.param_groups[0]["lr"] = rate
        return self.update(inputs, measure)

    def seed(self, step: int) -> None:
        """Seed all random numbers of a step."""
        self.generator.manual_seed(_seed(self.config.draws.seed, step, _MASKS))
        torch.manual_seed(_seed(self.config.draws.seed, step, _DROPOUT + self.ranks.rank))

    def replace_generator(self) -> None:
        """Replace a generator that a failed capture has left in use. `seed` must be called before the next step."""
        self.generator = torch.Generator(self.device)

    def update(self, inputs: Step, measure: bool = False) -> Mapping[str, Tensor]:
        """Update the model once by these samples, at the optimizer's learning rate, and return what `step` returns."""
        self.objective.train()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
            losses = self.objective(inputs, self.generator, measure)
        self._optimizer.zero_grad()
        losses["loss"].backward()
        self.ranks.average_gradients(self._parameters.values())
        if self.config.optimization.clip is not None:
            torch.nn.utils.clip_grad_norm_(self._parameters.values(), self.config.optimization.clip)
        self._optimizer.step()
        self.objective.after_step()
        return {name: loss.detach() for name, loss in losses.items()}

    def checkpoint(self, steps: int, epoch_steps: int, metrics_bytes: int) -> Checkpoint:
        """Return the state of the model and the optimizer.

        Raises:
            Diverged: A weight is not finite.
        """
        moments = {
            f"{kind}.{name}": narrow(self._optimizer.state[parameter][kind], _moment_shape(kind, self._shapes[name]))
            for name, parameter in self._parameters.items()
            if parameter in self._optimizer.state  # masking, for example, has no gradient of a readout
            for kind in _ADAM
        }
        model = {name: narrow(value, self._shapes[name]) for name, value in self.objective.state_dict().items()}
        finite = torch.stack([tensor.isfinite().all() for tensor in (*model.values(), *moments.values())])
        if not finite.all():
            raise not_finite("update", f"step {steps}")
        return Checkpoint(steps, epoch_steps, metrics_bytes, model, moments)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint of the same options.

        Raises:
            Damaged: The checkpoint is of another model.
        """
        try:
            self._load(checkpoint.model)
            for name, parameter in self._parameters.items():
                if not any(f"{kind}.{name}" in checkpoint.optimizer for kind in _ADAM):
                    continue
                moments = {kind: checkpoint.optimizer[f"{kind}.{name}"].to(self.device) for kind in _ADAM}
                self._optimizer.state[parameter] = {
                    kind: widen(moment, _moment_shape(kind, parameter.shape)) for kind, moment in moments.items()
                }
        except (RuntimeError, LookupError) as error:
            raise Damaged(
                "the checkpoint does not fit the model of this run",
                expected="a checkpoint of a run with the same model",
                hint="resume with the options of the run, or train again in an empty folder",
            ) from error

    def start_from(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the initial weights of the encoder by those of another encoder of the same architecture, by name."""
        state = self.objective.encoder.state_dict()
        self.objective.start_from({name: widen(value, state[name].shape) for name, value in weights.items()})

    def _load(self, model: Mapping[str, Tensor]) -> None:
        """Load the state of a model of the options' width. Raises `RuntimeError` and `LookupError`."""
        if {name: value.shape for name, value in model.items()} != self._shapes:
            raise RuntimeError("its tensors have other names or shapes")
        state = self.objective.state_dict()
        self.objective.load_state_dict({name: widen(value, state[name].shape) for name, value in model.items()})


def _moment_shape(kind: str, shape: torch.Size) -> torch.Size:
    """Return the shape of a part of Adam's state of a parameter of this shape."""
    return torch.Size() if kind == "step" else shape
