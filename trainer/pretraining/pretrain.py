"""The pre-training loop (docs/reference/training.md).

A run depends only on its options, the generation and the machine: all random numbers are keyed by seed and step. A
killed run therefore continues as if it had not been interrupted, bit for bit on the same CPU, build of torch and number
of threads. On CUDA only the batches are reproducible.
"""

import logging
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.encoder_registry import package_record
from graphkin.trainer.features.corpus import MASK
from graphkin.trainer.features.network import Network
from graphkin.trainer.feed.source import Source
from graphkin.trainer.model.batch import Assembler, Graphs
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.captured import PaddedSteps, obstacle
from graphkin.trainer.pretraining.checkpoint import Checkpoint, Run, read_run
from graphkin.trainer.pretraining.clock import Clock
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.hgc import EdgeSet, twins
from graphkin.trainer.pretraining.loggers import LoggedRun, Logger, LoggerName, listener_of, load_logger
from graphkin.trainer.pretraining.metrics_log import Listener, MetricsLog, Update
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.pretrained import Pretrained, weights_sha256
from graphkin.trainer.pretraining.recording import is_measured
from graphkin.trainer.pretraining.schedule import learning_rate
from graphkin.trainer.pretraining.trainer import Trainer
from graphkin.trainer.pretraining.viewed import ViewedGraphs
from graphkin.trainer.pretraining.walked import WalkedGraphs

_log = logging.getLogger(__name__)


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
    capture: bool = True,
    logger: LoggerName | None = None,
    start: Pretrained | None = None,
) -> None:
    """Train, and write the run to `folder` in the format of `checkpoint.py`.

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
        capture: Whether a GPU replays steps as CUDA graphs. A CPU never does. If the steps of a strategy cannot be
            captured, the reason is logged.
        logger: Program that shows the curves of the measured steps; None for TensorBoard if it is installed.
        start: Encoder whose weights replace the random ones at the beginning; None for random weights.

    Raises:
        InvalidInput: `Run` or `Plan` rejects the folder or the options, the package of the logger is not installed, or
            `start` has another architecture than the options.
        Conflict: The strategy does not fit the collection.
        Diverged: The loss or a weight is not finite. The last checkpoint is kept.
    """
    loaded_logger = load_logger("none" if ranks.rank else logger)
    options = {"config": config.as_json(), "generation": asdict(source.generation)}
    options |= package_record(config.model.encoder)
    if source.second_generation is not None:
        options["beside"] = asdict(source.second_generation)
    if start is not None:
        _require_same_model(start.model, config.model)
        options["start"] = {"weights": weights_sha256(start.encoder)}
    with _claim(folder, options, resume, ranks) as run:
        _train(run, config, source, device, checkpoint_steps, report, ranks, capture, loaded_logger, start)


def _require_same_model(start: Model, model: Model) -> None:
    """Raise `InvalidInput` if two models differ in more than dropout, which has no weights."""
    old, new = asdict(start), asdict(model)
    differences = [name for name in new if name != "dropout" and old[name] != new[name]]
    if differences:
        raise InvalidInput(
            "the encoder to start from differs from the one to train",
            given=", ".join(f"{name} {old[name]}" for name in differences),
            expected=", ".join(f"{name} {new[name]}" for name in differences),
            hint="train an encoder like that of --checkpoint, for example with --encoder gcn --set width=300",
        )


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
    capture: bool,
    logger: Logger,
    start: Pretrained | None,
) -> None:
    checkpoint = run.newest()
    if checkpoint is not None and checkpoint.steps == _steps(config, checkpoint.epoch_steps):
        return
    source.prefetch(checkpoint.steps // checkpoint.epoch_steps if checkpoint else 0)
    trainer = make_trainer(config, source, device, ranks, capture)
    if checkpoint is not None:
        trainer.restore(checkpoint)
    elif start is not None:
        trainer.start_from(start.encoder.state_dict())
    remaining = updates(trainer, config, source, checkpoint)
    if ranks.rank:
        deque(remaining, maxlen=0)
        return
    logged_run = LoggedRun(run.folder, read_run(run.folder), checkpoint.steps if checkpoint else 0)
    with (
        logger(logged_run) as writer,
        MetricsLog(run.metrics, checkpoint.metrics_bytes if checkpoint else 0, listener_of(writer), report) as log,
    ):
        for update in remaining:
            log.add(update)
            if update.step % checkpoint_steps == 0 or update.step == update.of:
                run.save(trainer.checkpoint(update.step, update.epoch_steps, log.flush()))


def make_trainer(
    config: PretrainConfig,
    source: Source,
    device: torch.device | str = "cpu",
    ranks: Ranks = ALONE,
    capture: bool = True,
    widen: bool = True,
) -> Trainer:
    """Return a trainer of the source's items.

    If its steps can be captured, its learning rate is on the device. In this case, `widen` and bfloat16 together widen
    its model (`widening`).
    """
    graphs = _graphs(config, source, device)
    lowest, edges = None, None
    if config.contrast is not None and config.draws.policy is not None:
        lowest = twins(source.generation.size, source.twins())
        if config.contrast.mask_neighbors:
            edges = EdgeSet(torch.from_numpy(source.edges()).to(device))
    is_captured = capture and _can_capture(config, graphs, ranks)
    is_wide = is_captured and widen and config.bf16
    return Trainer(config, graphs, lowest, edges, ranks, is_rate_on_device=is_captured, is_wide=is_wide)


def _can_capture(config: PretrainConfig, graphs: Graphs, ranks: Ranks) -> bool:
    """Return whether steps can be captured. If not, and the device is a GPU, log the reason."""
    if graphs.device.type != "cuda":
        return False
    reason = obstacle(config, graphs, ranks)
    if reason is not None and ranks.rank == 0:
        _log.warning("the steps of %s are not captured as CUDA graphs: %s", config.strategy, reason)
    return reason is None


def _graphs(config: PretrainConfig, source: Source, device: torch.device | str) -> Graphs:
    """Return the source of graphs: the items, the items with augmented views, or subgraphs sampled around nodes."""
    if config.draws.walks is not None:
        network = Network.from_edges(source.links(), source.generation.size)
        return WalkedGraphs(network, config.draws.walks, config.draws.seed, device)
    corpus = source.corpus()
    corpus.require_features(config.model.features)
    if config.masking is not None and bool((corpus.atom_type == MASK).any()):
        raise Conflict(
            "these graphs have no labels that could be masked and predicted",
            given=source.generation.collection,
            expected="a collection of molecules, or of graphs with labels",
            hint="choose a --strategy without masking, such as hgc-fo",
        )
    if config.draws.views is not None:
        return ViewedGraphs(corpus, config.draws.views, config.draws.seed, device)
    return Assembler(corpus, device)


def updates(
    trainer: Trainer, config: PretrainConfig, source: Source, checkpoint: Checkpoint | None = None
) -> Iterator[Update]:
    """Run the remaining steps, and yield each once it is launched.

    Args:
        trainer: A trainer, restored from the checkpoint.
        config: Options of the run.
        source: The source from which the trainer was made.
        checkpoint: The state to continue from; None at the beginning.
    """
    clock = Clock()
    padded = None if trainer.rate is None else PaddedSteps(trainer)
    for step, plan, place in clock.waiting(_places(config, source, checkpoint, trainer.ranks.size)):
        steps, draw = _steps(config, plan.steps), plan.draw(place)
        rate, measure = learning_rate(config.optimization, step, steps), is_measured(step + 1, steps)
        if padded is None:
            losses = trainer.step(step, rate, draw, clock, measure)
        else:
            losses = padded.step(step, steps, plan, place, measure)
        yield Update(step + 1, steps, plan.steps, losses, rate, draw.graphs, clock.wait_share())


def _steps(config: PretrainConfig, epoch_steps: int) -> int:
    """Return the number of steps of the whole run."""
    return config.max_steps or config.epochs * epoch_steps


def _places(
    config: PretrainConfig, source: Source, checkpoint: Checkpoint | None, min_anchors: int
) -> Iterator[tuple[int, Plan, int]]:
    """Yield the remaining steps, from 0: the step, its epoch, and its position in the epoch."""
    step = checkpoint.steps if checkpoint else 0
    epoch, place = divmod(step, checkpoint.epoch_steps) if checkpoint else (0, 0)
    while True:
        plan = Plan(config, epoch, source.epoch(epoch), min_anchors)
        if checkpoint is not None and plan.steps != checkpoint.epoch_steps:
            raise InvalidInput(
                "an epoch has another number of steps than at the start of the run",
                given=plan.steps,
                expected=str(checkpoint.epoch_steps),
                hint="resume with as many processes as the run was started with",
            )
        steps = _steps(config, plan.steps)
        source.require((steps - 1) // plan.steps)
        for at in range(place, min(plan.steps, steps - epoch * plan.steps)):
            yield step, plan, at
            step += 1
        if step == steps:
            return
        epoch, place = epoch + 1, 0
