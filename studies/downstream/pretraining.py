"""Timed pre-training runs that continue after a kill."""

from dataclasses import replace
from pathlib import Path

from graphkin.trainer.feed.source import Source
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.metrics_log import Listener, Record, Report
from graphkin.trainer.pretraining.pretrain import pretrain
from studies.cells import Cell, Stopwatch


def over_all_atoms(config: PretrainConfig) -> PretrainConfig:
    """Return the configuration with the masking loss over all atoms, as AdaM has it."""
    assert config.masking is not None
    return replace(config, masking=replace(config.masking, loss="all"))


def run_pretraining(
    config: PretrainConfig,
    source: Source,
    run: Path,
    checkpoint_steps: int,
    device: str = "cpu",
    listener: Listener = lambda _: None,
) -> Cell:
    """Train to `config.max_steps` steps in all, continuing an earlier run.

    Returns:
        Times of the whole run, extrapolated from the steps of this call. Empty if no step was left.
    """
    records: list[Record] = []

    def listen(report: Report) -> None:
        records.extend(report.records)
        listener(report)

    with source:
        source.corpus()  # featurize before the stopwatch starts; the result is shared by all runs
        stopwatch = Stopwatch()
        pretrain(
            config,
            source,
            run,
            device=device,
            resume=True,
            checkpoint_steps=checkpoint_steps,
            report=listen,
        )
    return stopwatch.read((config.max_steps or 0) / len(records)) if records else {}
