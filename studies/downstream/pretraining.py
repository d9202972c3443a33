"""A pre-training run that is timed, and goes on where it was killed."""

from dataclasses import replace
from pathlib import Path

from graphkin.trainer.feed.source import Source
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.metrics_log import Listener, Record, Report
from graphkin.trainer.pretraining.pretrain import pretrain
from studies.cells import Cell, Stopwatch


def over_all_atoms(config: PretrainConfig) -> PretrainConfig:
    """The same with the masking loss over all atoms, as AdaM's is."""
    assert config.masking is not None
    return replace(config, masking=replace(config.masking, loss="all"))


def pretrained(
    config: PretrainConfig,
    source: Source,
    run: Path,
    checkpoint_steps: int,
    device: str = "cpu",
    listener: Listener = lambda _: None,
) -> Cell:
    """Train, or continue, `config.max_steps` in all; the times are theirs at the pace of those done now; none
    where all were done before. `listener` gets the reports of `pretrain`."""
    records: list[Record] = []

    def listen(report: Report) -> None:
        records.extend(report.records)
        listener(report)

    with source:
        source.corpus()  # featurised once for all runs
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
