"""The pre-training loop (docs/training.md).

A run depends only on its options, the generation and the machine: all random numbers are keyed by seed and step. A
killed run therefore continues as if it had not been interrupted, bit for bit on the same CPU, build of torch and number
of threads. On CUDA only the batches are reproducible.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphkin.protocol.errors import Conflict, Damaged, InvalidInput
from graphkin.trainer.features.corpus import MASK
from graphkin.trainer.features.network import Network
from graphkin.trainer.feed.source import Source
from graphkin.trainer.model.batch import Assembler, Graphs
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.baselines import baseline
from graphkin.trainer.pretraining.board import is_measured, open_board
from graphkin.trainer.pretraining.checkpoint import Checkpoint, Run
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.hgc import EdgeSet, twins
from graphkin.trainer.pretraining.joint import JointObjective
from graphkin.trainer.pretraining.metrics_log import Listener, MetricsLog, Update, not_finite
from graphkin.trainer.pretraining.moco import MoCo
from graphkin.trainer.pretraining.objective import Draw, Objective, Step
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.schedule import learning_rate
from graphkin.trainer.pretraining.viewed import ViewedGraphs
from graphkin.trainer.pretraining.walked import WalkedGraphs

T = TypeVar("T")

_MASKS, _DROPOUT = 1, 2  # streams of random numbers; every rank has its own stream for dropout
_ADAM = ("step", "exp_avg", "exp_avg_sq")  # Adam's state of each parameter


def pretrain(
    config: PretrainConfig,
    source: Source,
    folder: Path,
    *,
    device: torch.device | str = "cpu",
    resume: bool = False,
    checkpoint_steps: int = 1000,
    report: Listener = lambda _: None,
    ranks: Ranks = ALONE,
) -> None:
    """Train, and leave the run in `folder` in the format of `checkpoint.py`.

    Also raises the errors of `source`.

    Args:
        config: Options of the run.
        source: The data. Each rank has its own source.
        folder: Folder of the run.
        device: The device to compute on.
        resume: Whether to continue from the newest checkpoint. Without a checkpoint a new run starts.
        checkpoint_steps: Steps between checkpoints. One is also written after the last step.
        report: Called about once a second with the completed steps.
        ranks: The processes that train together. The first one writes and reports.

    Raises:
        InvalidInput: `Run` or `Plan` rejects the folder or the options.
        Conflict: The strategy does not fit the collection.
        Diverged: The loss or a weight is not finite. The last checkpoint is kept.
    """
    options = {"config": config.as_json(), "generation": asdict(source.generation)}
    if source.second_generation is not None:
        options["beside"] = asdict(source.second_generation)
    with _claim(folder, options, resume, ranks) as run:
        _train(run, config, source, device, checkpoint_steps, report, ranks)


@contextmanager
def _claim(folder: Path, options: Mapping[str, object], resume: bool, ranks: Ranks) -> Iterator[Run]:
    """Yield the run. The first rank creates and locks it before the others open it."""
    if ranks.rank:
        ranks.wait()
        yield Run(folder, options, resume=True)
        return
    run = Run(folder, options, resume)
    with run.claimed():
        ranks.wait()
        yield run


def _train(
    run: Run,
    config: PretrainConfig,
    source: Source,
    device: torch.device | str,
    checkpoint_steps: int,
    report: Listener,
    ranks: Ranks,
) -> None:
    checkpoint = run.newest()
    if checkpoint is not None and checkpoint.steps == _steps(config, checkpoint.epoch_steps):
        return
    source.prefetch(checkpoint.steps // checkpoint.epoch_steps if checkpoint else 0)
    trainer = _trainer(config, source, device, ranks)
    if checkpoint is not None:
        trainer.restore(checkpoint)
    updates = _updates(trainer, config, source, checkpoint)
    if ranks.rank:
        deque(updates, maxlen=0)
        return
    with (
        open_board(run.folder / "tensorboard", checkpoint.steps if checkpoint else 0) as board,
        MetricsLog(run.metrics, checkpoint.metrics_bytes if checkpoint else 0, board, report) as log,
    ):
        for update in updates:
            log.add(update)
            if update.step % checkpoint_steps == 0 or update.step == update.of:
                run.save(trainer.checkpoint(update.step, update.epoch_steps, log.flush()))


def _trainer(config: PretrainConfig, source: Source, device: torch.device | str, ranks: Ranks) -> "Trainer":
    graphs = _graphs(config, source, device)
    lowest, edges = None, None
    if config.contrast is not None and config.draws.policy is not None:
        lowest = twins(source.generation.size, source.twins())
        if config.contrast.mask_neighbors:
            edges = EdgeSet(torch.from_numpy(source.edges()).to(device))
    return Trainer(config, graphs, lowest, edges, ranks)


def _graphs(config: PretrainConfig, source: Source, device: torch.device | str) -> Graphs:
    """Return the source of graphs: the items, the items with augmented views, or subgraphs sampled around nodes."""
    if config.draws.walks is not None:
        network = Network.from_edges(source.links(), source.generation.size)
        return WalkedGraphs(network, config.draws.walks, config.draws.seed, device)
    corpus = source.corpus()
    if config.masking is not None and bool((corpus.atom_type == MASK).any()):
        raise Conflict("these graphs have no atoms to predict", given=source.generation.collection)
    if config.draws.views is not None:
        return ViewedGraphs(corpus, config.draws.views, config.draws.seed, device)
    return Assembler(corpus, device)


def make_objective(config: PretrainConfig, edges: EdgeSet | None = None, ranks: Ranks = ALONE) -> Objective:
    """Return the objective that the options select, with new weights from torch's seed."""
    contrast = config.contrast
    if contrast is not None and contrast.momentum is not None:
        return MoCo(config.model, contrast, contrast.momentum, edges, ranks)
    if config.task is not None:
        return baseline(config.model, config.task, ranks)
    return JointObjective(config, edges, ranks)


def _updates(
    trainer: "Trainer", config: PretrainConfig, source: Source, checkpoint: Checkpoint | None
) -> Iterator[Update]:
    clock = Clock()
    options, batch_size = config.optimization, config.draws.batch_size
    for step, epoch_steps, draw in clock.waiting(_draws(config, source, checkpoint, trainer.ranks.size)):
        steps = _steps(config, epoch_steps)
        rate = learning_rate(options, step, steps, epoch_steps, batch_size)
        losses = trainer.step(step, rate, draw, clock, is_measured(step + 1, steps))
        yield Update(step + 1, steps, epoch_steps, losses, rate, draw.graphs, clock.wait_share())


def _steps(config: PretrainConfig, epoch_steps: int) -> int:
    """Return the number of steps of the whole run."""
    return config.max_steps or config.epochs * epoch_steps


def _draws(
    config: PretrainConfig, source: Source, checkpoint: Checkpoint | None, min_anchors: int
) -> Iterator[tuple[int, int, Draw]]:
    """Yield the remaining steps, from 0: the step, the steps of its epoch, and the step's samples."""
    step = checkpoint.steps if checkpoint else 0
    epoch, place = divmod(step, checkpoint.epoch_steps) if checkpoint else (0, 0)
    while True:
        plan = Plan(config, epoch, source.epoch(epoch), min_anchors)
        if checkpoint is not None and plan.steps != checkpoint.epoch_steps:
            raise InvalidInput(
                "an epoch has another number of steps than when the run was begun",
                given=plan.steps,
                expected=str(checkpoint.epoch_steps),
                hint="resume with as many processes as before",
            )
        steps = _steps(config, plan.steps)
        source.require((steps - 1) // plan.steps)
        for at in range(place, min(plan.steps, steps - epoch * plan.steps)):
            yield step, plan.steps, plan.draw(at)
            step += 1
        if step == steps:
            return
        epoch, place = epoch + 1, 0


class Clock:
    """Measures the share of time spent waiting for ids and batches, since its creation.

    The loop creates it when it requests the first ids. Features and pairs, which are computed once per generation and
    cached, exist by then and count neither as waiting nor as time.
    """

    def __init__(self) -> None:
        self._start_time = perf_counter()
        self._wait_time = 0.0

    def wait_share(self) -> float:
        return self._wait_time / (perf_counter() - self._start_time)

    def wait(self, get: Callable[[], T]) -> T:
        """Return the result of `get`, and count its duration as waiting."""
        start_time = perf_counter()
        try:
            return get()
        finally:
            self._wait_time += perf_counter() - start_time

    def waiting(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, and count the time until each arrives as waiting."""
        iterator = iter(items)
        while True:
            try:
                yield self.wait(lambda: next(iterator))
            except StopIteration:
                return


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
    ) -> None:
        self._config = config
        self._graphs = graphs
        self._twins = twins
        self.ranks = ranks
        self._device = graphs.device
        self._generator = torch.Generator(self._device)
        torch.manual_seed(config.draws.seed)
        self.objective = make_objective(config, edges, ranks).to(self._device)
        self._parameters = self.objective.trainable_parameters()
        free_parameters = self.objective.unscheduled_parameters()
        free_ids = {id(parameter) for parameter in free_parameters}
        self._scheduled = [parameter for parameter in self._parameters.values() if id(parameter) not in free_ids]
        groups = [{"params": self._scheduled}] + ([{"params": free_parameters}] if free_parameters else [])
        options = config.optimization
        self._optimizer = torch.optim.Adam(
            groups,
            lr=options.learning_rate,
            betas=options.betas,
            weight_decay=options.weight_decay,
            fused=True,
        )
        if self._device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TF32

    def step(self, step: int, rate: float, draw: Draw, clock: Clock, measure: bool = False) -> Mapping[str, Tensor]:
        """Update the model once at this learning rate.

        Return the losses before the update, and the objective's measures.
        """
        self._generator.manual_seed(_seed(self._config.draws.seed, step, _MASKS))
        torch.manual_seed(_seed(self._config.draws.seed, step, _DROPOUT + self.ranks.rank))
        inputs = clock.wait(lambda: Step.from_draw(draw, self._graphs, self._twins, self.ranks))
        self.objective.train()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._config.bf16):
            losses = self.objective(inputs, self._generator, measure)
        self._optimizer.zero_grad()
        losses["loss"].backward()
        self.ranks.average_gradients(self._parameters.values())
        if self._config.optimization.clip is not None:
            torch.nn.utils.clip_grad_norm_(self._scheduled, self._config.optimization.clip)
        self._optimizer.param_groups[0]["lr"] = rate
        self._optimizer.step()
        self.objective.after_step()
        return {name: loss.detach() for name, loss in losses.items()}

    def checkpoint(self, steps: int, epoch_steps: int, metrics_bytes: int) -> Checkpoint:
        """Return the state of the model and the optimizer.

        Raises:
            Diverged: A weight is not finite.
        """
        moments = {
            f"{kind}.{name}": self._optimizer.state[parameter][kind]
            for name, parameter in self._parameters.items()
            for kind in _ADAM
        }
        model = self.objective.state_dict()
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
            self.objective.load_state_dict(checkpoint.model)
            for name, parameter in self._parameters.items():
                self._optimizer.state[parameter] = {
                    kind: checkpoint.optimizer[f"{kind}.{name}"].to(self._device) for kind in _ADAM
                }
        except (RuntimeError, LookupError) as error:
            raise Damaged(f"the checkpoint is of another model: {error}") from error
