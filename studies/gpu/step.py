"""Time of a training step of every strategy, captured as CUDA graphs and not, and comparison of losses.

The inputs are ready in `payload/inputs.tar.xz`. A unit is a strategy at its published batch size. Milliseconds are
medians of single steps on the device. Parity compares the first losses of a float32 run with small batches on the
device and on a CPU. The card multiplies matrices in TF32.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from graphkin.trainer.feed.source import Source
from graphkin.trainer.pretraining.checkpoint import Checkpoint
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.metrics_log import Update
from graphkin.trainer.pretraining.pretrain import make_trainer, updates
from graphkin.trainer.strategy import LEARNED_BY, Sampling, Strategy
from studies.cells import Cell
from studies.gpu.inputs import open_inputs, unpack_inputs, write_inputs
from studies.gpu.payload import PAYLOAD
from studies.gpu.results import known_cells
from studies.gpu.setting import Parts, Piece, Setting
from studies.gpu.tiny import shrunk

INPUTS = PAYLOAD / "inputs.tar.xz"


class Lengths(NamedTuple):
    """Numbers of steps.

    Attributes:
        warm: Steps before the timed ones.
        timed: Timed steps.
        profiled: Steps after them, under the profiler.
        parity: Steps whose losses are compared with a CPU's.
        range: First and last step of the mean losses that are compared.
        resumed: Steps before and after the checkpoint of a run that continues.
    """

    warm: int
    timed: int
    profiled: int
    parity: int
    range: tuple[int, int]
    resumed: tuple[int, int]


FULL = Lengths(60, 150, 5, 50, (1000, 1200), (40, 20))
TINY = Lengths(2, 2, 1, 2, (1, 2), (2, 2))
FIRST: tuple[Strategy, ...] = ("hgc-fo", "hgc-ho", "rdm", "adam", "graphcl")
STRATEGIES: tuple[Strategy, ...] = (*FIRST, *(each for each in LEARNED_BY["molecule"] if each not in FIRST))
TINY_STRATEGIES: tuple[Strategy, ...] = ("hgc-fo", "adam", "context-pred", "graphcl")
SEEDS = 3
_INPUTS = "inputs"
_PARITY_BATCH = 64
_MODES = ("eager", "captured", "narrow")
_SLOWEST, _TRACE = 12, 2000


def pieces(setting: Setting) -> Sequence[Piece]:
    strategies = TINY_STRATEGIES if setting.tiny else STRATEGIES
    last = (strategies[-1], "losses")
    steps = [Piece(name, ("eager", "captured", "losses"), inputs=(_INPUTS,)) for name in strategies]
    checks = [
        Piece("hgc-fo", ("narrow", "resumed", "range"), inputs=(_INPUTS,)),
        Piece("adam", ("resumed",), inputs=(_INPUTS,)),
    ]
    parity = [Piece(name, ("parity",), last, core=True, inputs=(_INPUTS,)) for name in strategies]
    return [*steps, *checks, *parity]


def samples(tiny: bool = False) -> list[Sampling]:
    """Return the samples that the strategies take."""
    return [_parity_config(strategy, tiny).draws for strategy in (TINY_STRATEGIES if tiny else STRATEGIES)]


def prepare(setting: Setting, name: str) -> None:  # noqa: ARG001  (there is one input)
    if not setting.tiny:
        unpack_inputs(INPUTS, setting.data)
    elif not _inputs(setting).exists():
        from studies.gpu.molecules import molecules_file

        write_inputs(_inputs(setting), molecules_file(setting, "zinc.smi"), samples(tiny=True), setting.workers)


def measure(setting: Setting, piece: Piece) -> Parts:
    (strategy,) = [each for each in STRATEGIES if each == piece.unit]
    lengths = TINY if setting.tiny else FULL
    for part in piece.parts:
        if part in _MODES:
            yield part, _time_steps(setting, _config(strategy, setting.tiny), lengths, part)
        elif part == "losses":
            config = replace(_parity_config(strategy, setting.tiny), max_steps=lengths.parity)
            yield part, {"losses": _losses(setting, config, setting.device)}
        elif part == "resumed":
            yield part, _continue(setting, _config(strategy, setting.tiny), *lengths.resumed)
        elif part == "range":
            yield part, _compare_ranges(setting, strategy, *lengths.range)
        else:
            config = replace(_parity_config(strategy, setting.tiny), max_steps=lengths.parity)
            losses = _losses(setting, config, "cpu")
            yield part, {**_compare_losses(setting, strategy, losses), "losses": losses}


def _config(strategy: Strategy, tiny: bool, seed: int = 0) -> PretrainConfig:
    config = PretrainConfig.from_strategy(strategy, bf16=True, seed=seed)
    return shrunk(config, 1) if tiny else config


def _parity_config(strategy: Strategy, tiny: bool) -> PretrainConfig:
    config = PretrainConfig.from_strategy(strategy, batch_size=_PARITY_BATCH)
    return shrunk(config, 1) if tiny else config


def _inputs(setting: Setting) -> Path:
    return setting.data / _INPUTS


def _time_steps(setting: Setting, config: PretrainConfig, lengths: Lengths, mode: str) -> Cell:
    """Return the median and the mean of milliseconds a step, peak memory, and the figures of `_profile`.

    The mode `narrow` captures steps of a model that is not widened.

    `log` holds the reasons that the log gives if steps are not captured.
    """
    config = replace(config, max_steps=lengths.warm + lengths.timed + lengths.profiled)
    if setting.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    with _log_lines() as lines, _source(setting, config) as source:
        trainer = make_trainer(config, source, setting.device, capture=mode != "eager", widen=mode != "narrow")
        steps = updates(trainer, config, source)
        first = _take(steps, lengths.warm)
        milliseconds, embeddings = _milliseconds(setting, steps, lengths.timed)
        cell: Cell = {
            "batch": config.draws.batch_size,
            "embeddings": embeddings,
            "ms": float(np.median(milliseconds)),
            "mean_ms": float(np.mean(milliseconds)),
            "losses": [float(update.losses["loss"]) for update in first],
        }
        if setting.device == "cuda":
            cell["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
            cell["reserved_gib"] = torch.cuda.max_memory_reserved() / 2**30
        try:
            cell |= _profile(setting, steps, lengths.profiled)
            cell["idle_ms"] = cell["ms"] - cell["kernel_ms"]
        except RuntimeError as error:  # a machine may refuse to profile, and the times count without it
            cell["unprofiled"] = str(error)
    cell["log"] = lines
    return cell


def _milliseconds(setting: Setting, steps: Iterator[Update], count: int) -> tuple[list[float], int]:
    """Return the time of each of the next steps, on the device, and the embeddings of the last one."""
    embeddings = 0
    if setting.device == "cpu":
        times = [perf_counter()]
        for update in islice(steps, count):
            times.append(perf_counter())
            embeddings = update.embeddings
        return (1e3 * np.diff(times)).tolist(), embeddings
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]  # type: ignore[no-untyped-call]
    marks[0].record()
    for update, mark in zip(islice(steps, count), marks[1:], strict=True):
        mark.record()
        embeddings = update.embeddings
    torch.cuda.synchronize()
    return [mark.elapsed_time(later) for mark, later in pairwise(marks)], embeddings


def _profile(setting: Setting, steps: Iterator[Update], count: int) -> Cell:
    """Return, for each of the next steps, the device's kernels and their milliseconds, launches and operations."""
    cuda = setting.device == "cuda"
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]) as profiler:
        _take(steps, count)
        if cuda:
            torch.cuda.synchronize()
    events = profiler.events()
    kernels = [
        event
        for event in events
        if event.device_type.name == "CUDA" and not getattr(event, "is_user_annotation", False)
    ]
    slowest: defaultdict[str, float] = defaultdict(float)
    for event in kernels:
        slowest[event.name[:120]] += event.time_range.elapsed_us() / 1e3 / count
    return {
        "kernels": len(kernels) / count,
        "kernel_ms": sum(slowest.values()),
        "launches": sum("LaunchKernel" in event.name or "GraphLaunch" in event.name for event in events) / count,
        "operations": sum(event.name.startswith("aten::") for event in events) / count,
        "slowest_ms": dict(sorted(slowest.items(), key=lambda item: -item[1])[:_SLOWEST]),
    }


def _losses(setting: Setting, config: PretrainConfig, device: str, capture: bool = True) -> list[float]:
    """Train from the beginning, and return the losses."""
    with _source(setting, config) as source:
        trainer = make_trainer(config, source, device, capture=capture)
        losses = [update.losses["loss"] for update in updates(trainer, config, source)]
    return [float(loss) for loss in torch.stack(losses).tolist()]


def _compare_losses(setting: Setting, strategy: str, losses: list[float]) -> Cell:
    other_losses = known_cells(setting, "step").get((strategy, "losses"))
    if other_losses is None:
        return {}
    difference = np.abs(np.array(losses) - other_losses["losses"]) / np.abs(losses)
    return {"largest_relative_difference": float(difference.max())}


def _compare_ranges(setting: Setting, strategy: Strategy, first: int, last: int) -> Cell:
    """Return the mean losses of the steps `first` to `last`, captured, and of three seeds that are not."""
    config = replace(_config(strategy, setting.tiny), max_steps=last)

    def mean_loss(seed: int, capture: bool) -> float:
        seeded = replace(config, draws=replace(config.draws, seed=seed))
        return float(np.mean(_losses(setting, seeded, setting.device, capture)[first - 1 :]))

    return {
        "steps": [first, last],
        "captured": mean_loss(0, True),
        "eager": [mean_loss(each, False) for each in range(SEEDS)],
    }


def _continue(setting: Setting, config: PretrainConfig, before: int, after: int) -> Cell:
    """Return the losses of a run after a checkpoint, and those of a trainer that continues from it."""
    config = replace(config, max_steps=before + after)
    with _source(setting, config) as source:
        trainer = make_trainer(config, source, setting.device)
        steps = updates(trainer, config, source)
        epoch_steps = _take(steps, before)[-1].epoch_steps
        kept = trainer.checkpoint(before, epoch_steps, 0)
        states = ({name: tensor.clone() for name, tensor in state.items()} for state in (kept.model, kept.optimizer))
        checkpoint = Checkpoint(before, epoch_steps, 0, *states)
        uninterrupted = [float(update.losses["loss"]) for update in _take(steps, after)]
        other = make_trainer(config, source, setting.device)
        other.restore(checkpoint)
        resumed = [float(update.losses["loss"]) for update in updates(other, config, source, checkpoint)]
    return {"uninterrupted": uninterrupted, "resumed": resumed, "equal": uninterrupted == resumed}


def _take(steps: Iterator[Update], count: int) -> list[Update]:
    return list(islice(steps, count))


def _source(setting: Setting, config: PretrainConfig) -> Source:
    """Return the inputs of a run. They have seed 0; weights, order and masks have the seed of the options."""
    return open_inputs(_inputs(setting), replace(config.draws, seed=0))


@contextmanager
def _log_lines() -> Iterator[list[str]]:
    """Yield a list that receives what the trainer logs, with the traces of errors."""
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record)[-_TRACE:])

    handler, logger = Lines(), logging.getLogger("graphkin.trainer")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
