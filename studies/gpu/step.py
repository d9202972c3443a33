"""Time of a training step of every strategy in the loop of `graphkin pretrain`, and comparison of losses with a CPU.

A unit is a strategy at its published batch size. Figures are differences between a long and a short run, so that they
exclude fixed costs per run. Parity compares the first losses of a float32 run with small batches on the device and on
a CPU. The card multiplies matrices in TF32.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from graphkin.similarity.molecules.recipe import resolve
from graphkin.trainer.feed.source import Source
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.metrics_log import Report
from graphkin.trainer.pretraining.pretrain import pretrain
from graphkin.trainer.strategy import LEARNED_BY, Strategy
from studies.cells import Cell
from studies.gpu.molecules import molecules_file
from studies.gpu.results import cells_of
from studies.gpu.setting import Parts, Piece, Setting
from studies.gpu.sources import ingest_collection, open_source
from studies.gpu.tiny import shrunk

_COLLECTION = "step"
_RECIPE = resolve(fingerprint={"name": "rdkit"}, threshold=0.5)


class Lengths(NamedTuple):
    """Numbers of steps: of the two timed runs, of the two profiled runs, and of the parity runs."""

    timed: tuple[int, int]
    profiled: tuple[int, int]
    parity: int


FULL = Lengths((20, 220), (5, 25), 50)
TINY = Lengths((1, 2), (1, 2), 2)
TINY_STRATEGIES: tuple[Strategy, ...] = ("hgc-fo", "adam", "context-pred", "graphcl")
_PARITY_BATCH = 64


def pieces(setting: Setting) -> Sequence[Piece]:
    strategies = TINY_STRATEGIES if setting.tiny else LEARNED_BY["molecule"]
    last = (strategies[-1], "step")
    steps = [Piece(name, ("step", "losses"), inputs=(_COLLECTION,)) for name in strategies]
    return [*steps, *(Piece(name, ("parity",), last, core=True, inputs=(_COLLECTION,)) for name in strategies)]


def prepare(setting: Setting, name: str) -> None:
    ingest_collection(setting, molecules_file(setting, "zinc.smi"), name, _RECIPE)


def measure(setting: Setting, piece: Piece) -> Parts:
    (strategy,) = [each for each in LEARNED_BY["molecule"] if each == piece.unit]
    lengths = TINY if setting.tiny else FULL
    config = PretrainConfig.from_strategy(strategy, bf16=True)
    config = shrunk(config, 1) if setting.tiny else config
    for part in piece.parts:
        if part == "step":
            yield part, _time_steps(setting, config, lengths)
        elif part == "losses":
            yield part, {"losses": _losses(setting, strategy, lengths, setting.device)}
        else:
            losses = _losses(setting, strategy, lengths, "cpu")
            yield part, {**_compare_losses(setting, strategy, losses), "losses": losses}


def _time_steps(setting: Setting, config: PretrainConfig, lengths: Lengths) -> Cell:
    short, long = lengths.timed
    _seconds(setting, config, short)
    seconds = (_seconds(setting, config, long) - _seconds(setting, config, short)) / (long - short)
    cell: Cell = {"batch": config.draws.batch_size, "ms": 1e3 * seconds}
    if setting.device == "cuda":
        cell["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    first, second = (_profile_steps(setting, config, steps) for steps in lengths.profiled)
    count = lengths.profiled[1] - lengths.profiled[0]
    per_step = {name: (second[name] - first[name]) / count for name in first}
    cell |= per_step
    cell["idle_ms"] = cell["ms"] - cell["kernel_ms"]
    return cell


def _seconds(setting: Setting, config: PretrainConfig, steps: int) -> float:
    begin = perf_counter()
    _run(setting, replace(config, max_steps=steps), setting.device)
    return perf_counter() - begin


def _profile_steps(setting: Setting, config: PretrainConfig, steps: int) -> Cell:
    """Return the device's kernels and their milliseconds, launches from the host, and operations."""
    cuda = setting.device == "cuda"
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]) as profiler:
        _run(setting, replace(config, max_steps=steps), setting.device)
    events = profiler.events()
    kernels = [event for event in events if event.device_type.name == "CUDA"]
    return {
        "kernels": len(kernels),
        "kernel_ms": sum(event.time_range.elapsed_us() for event in kernels) / 1e3,
        "launches": sum("LaunchKernel" in event.name for event in events),
        "operations": sum(event.name.startswith("aten::") for event in events),
    }


def _losses(setting: Setting, strategy: Strategy, lengths: Lengths, device: str) -> list[float]:
    config = PretrainConfig.from_strategy(strategy, batch_size=_PARITY_BATCH)
    config = shrunk(config, 1) if setting.tiny else config
    return _run(setting, replace(config, max_steps=lengths.parity), device)


def _compare_losses(setting: Setting, strategy: str, losses: list[float]) -> Cell:
    other_losses = cells_of(setting, "step").get((strategy, "losses"))
    if other_losses is None:
        return {}
    difference = np.abs(np.array(losses) - other_losses["losses"]) / np.abs(losses)
    return {"largest_relative_difference": float(difference.max())}


def _run(setting: Setting, config: PretrainConfig, device: str) -> list[float]:
    """Train from the beginning, and return the losses."""
    losses: list[float] = []

    def listen(report: Report) -> None:
        losses.extend(record["loss"] for record in report.records)

    with TemporaryDirectory() as folder, _source(setting, config) as source:
        pretrain(config, source, Path(folder, "run"), device=device, checkpoint_steps=10**9, report=listen)
    return losses


def _source(setting: Setting, config: PretrainConfig) -> Source:
    return open_source(setting, _COLLECTION, config.draws)
