"""A training process that is killed, and another process that continues."""

import json
import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.memory import MemorySource
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.metrics_log import Report
from graphkin.trainer.pretraining.pretrain import pretrain


def train(folder: Path, kill_at: int = 0) -> None:
    """Train on twelve molecules of five atoms. The process is killed when it reports this step or a later one."""
    path = np.array([[0, 1, 0], [1, 2, 3], [2, 3, 0], [3, 4, 6]])
    atoms = np.random.default_rng(0).integers(3, size=(60, 2))
    corpus = Corpus.from_bonds("x", np.full(12, 5), np.full(12, 4), atoms, np.tile(path, (12, 1)))
    config = replace(
        PretrainConfig.from_strategy("hgc-adam-fo", batch_size=4, max_steps=130), model=Model(layers=2, width=8)
    )
    epoch = Epoch(((np.arange(12)[:, None] + [1, 2, 3]) % 12).astype(np.int32), np.empty((0, 0), np.int32))

    def report(progress: Report) -> None:
        if kill_at and progress.records[-1]["step"] >= kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    source = MemorySource(corpus, config.draws, [epoch])
    pretrain(config, source, folder, resume=True, checkpoint_steps=30, report=report)


def metrics(folder: Path) -> list[dict[str, float]]:
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in record.items() if name != "wait_share"} for record in records]


def test_continued_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    uninterrupted, parts = tmp_path / "whole", tmp_path / "parts"
    train(uninterrupted)
    process = multiprocessing.get_context("spawn").Process(target=train, args=(parts, 80))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len(metrics(parts)) > 60  # The newest checkpoint has fewer steps.
    train(parts)
    for name in ("model.safetensors", "optimizer.safetensors"):
        expected, actual = (folder / "step-000000130" / name for folder in (uninterrupted, parts))
        assert expected.read_bytes() == actual.read_bytes()
    assert metrics(uninterrupted) == metrics(parts)
