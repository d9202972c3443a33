"""A training process that is killed, and another that continues."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, signal, sys
from pathlib import Path
import numpy as np
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.features.corpus import Corpus
from benchmarks.memory import MemorySource
from graphkin.trainer.pretraining.pretrain import pretrain
from graphkin.trainer.feed.source import Epoch
from dataclasses import replace

folder, kill_at = Path(sys.argv[1]), int(sys.argv[2])
sizes = np.full(12, 5)
path = np.array([[0, 1, 0], [1, 2, 3], [2, 3, 0], [3, 4, 6]])
atoms = np.random.default_rng(0).integers(3, size=(60, 2))
corpus = Corpus.from_bonds("x", sizes, np.full(12, 4), atoms, np.tile(path, (12, 1)))
config = replace(PretrainConfig.of("hgc-adam-fo", batch_size=4, max_steps=130), model=Model(layers=2, width=8))
epoch = Epoch(((np.arange(12)[:, None] + [1, 2, 3]) % 12).astype(np.int32), np.empty((0, 0), np.int32))

def report(told):
    if kill_at and told.records[-1]["step"] >= kill_at:
        os.kill(os.getpid(), signal.SIGKILL)

pretrain(config, MemorySource(corpus, config.draws, [epoch]), folder, resume=True, checkpoint_steps=30, report=report)
"""


def metrics(folder: Path) -> list[dict[str, float]]:
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in record.items() if name != "wait_share"} for record in records]


def test_a_killed_run_ends_as_one_that_was_not(tmp_path: Path) -> None:
    def run(name: str, kill_at: int) -> int:
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / name), str(kill_at)]
        return subprocess.run(command, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}).returncode

    assert run("whole", 0) == 0
    assert run("parts", 80) == -signal.SIGKILL
    assert len(metrics(tmp_path / "parts")) > 60  # more than its newest checkpoint has
    assert run("parts", 0) == 0
    for name in ("model.safetensors", "optimizer.safetensors"):
        whole, parts = (tmp_path / each / "step-000000130" / name for each in ("whole", "parts"))
        assert whole.read_bytes() == parts.read_bytes()
    assert metrics(tmp_path / "whole") == metrics(tmp_path / "parts")
