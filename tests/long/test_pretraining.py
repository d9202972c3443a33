"""300 steps on all of ZINC250k, from a real server, teach an encoder the task of its strategy (issue 6)."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.online import default_cache, open_online
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.encoder import graph_mean
from graphkin.trainer.model.norm import frozen_statistics
from graphkin.trainer.pretraining.checkpoint import read_model
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.hgc import unit
from graphkin.trainer.pretraining.joint import JointObjective
from graphkin.trainer.pretraining.masking import choose, uniform
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.pretrain import pretrain
from graphkin.trainer.strategy import Strategy
from studies.downstream.metrics import retrieval

DATA = Path(__file__).parents[3] / "shared" / "data" / "molecules" / "zinc250k.smiles.gz"
COMMAND = Path(sys.executable).with_name("graphkin")
STEPS, BATCH, HELD_OUT = 300, 64, 20
CARBON = 5

pytestmark = pytest.mark.shared


class Trained(NamedTuple):
    """A finished run, and molecules that it never used in any role.

    `held_out` is (20, 64, 1 or 2): batches of anchors, with the first positive of each if the strategy has positives.
    """

    records: list[dict[str, float]]
    before: JointObjective
    after: JointObjective
    assembler: Assembler
    held_out: np.ndarray

    def mean_loss(self, steps: slice) -> float:
        return float(np.mean([record["loss"] for record in self.records[steps]]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pretraining")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    if not DATA.exists():
        pytest.fail(f"{DATA} is missing: this check needs the shared data folder")
    place = ["--store", str(folder / "store"), "--collection", "zinc"]
    subprocess.run([COMMAND, "ingest", "molecules", DATA, "--format", "smi", "--threshold", "0.5", *place], check=True)
    serve = [str(COMMAND), "serve", "--store", str(folder / "store"), "--port", "0"]
    environment = {**os.environ, "GRAPHKIN_CACHE_DIR": str(folder / "server")}
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment) as server:
        try:
            assert server.stdout
            match = re.search(r"http://\S+", server.stdout.readline())
            assert match
            yield match[0]
        finally:
            server.kill()


def trained(strategy: Strategy, folder: Path, url: str) -> Trained:
    config = PretrainConfig.from_strategy(strategy, batch_size=BATCH, max_steps=STEPS)
    parallel = partial(features, workers=os.cpu_count() or 1)
    with open_online(url, "zinc", config.draws, parallel, default_cache(folder)) as source:
        pretrain(config, source, folder / strategy)
        corpus, plan = source.corpus(), Plan(config, 0, source.epoch(0))
    records = [json.loads(line) for line in (folder / strategy / "metrics.jsonl").read_text().splitlines()]
    torch.manual_seed(0)
    before, after = JointObjective(config), JointObjective(config)
    after.load_state_dict(read_model(folder / strategy))
    return Trained(records, before, after, Assembler(corpus), held_out(plan))


def held_out(plan: Plan) -> np.ndarray:
    seen = np.unique(np.concatenate([plan.draw(place).ids() for place in range(STEPS)]))
    later = [plan.draw(place) for place in range(STEPS, plan.steps)]
    rows = np.concatenate([np.column_stack([draw.anchors, draw.positives[:, :1]]) for draw in later])
    unseen = rows[~np.isin(rows, seen).any(1)]
    return unseen[: HELD_OUT * BATCH].reshape(HELD_OUT, BATCH, -1)


def mean_retrieval(objective: JointObjective, run: Trained) -> float:
    pairs = [[embedded(objective, run.assembler.batch(ids)) for ids in batch.T] for batch in run.held_out]
    return float(torch.stack([retrieval(*pair) for pair in pairs]).mean())


@torch.no_grad()
def embedded(objective: JointObjective, batch: Batch) -> torch.Tensor:
    """Return embeddings normalized by the statistics of the batch.

    An untrained encoder has no running statistics.
    """
    with frozen_statistics(objective):
        return unit(graph_mean(objective.train().encoder(batch), batch))


@pytest.mark.parametrize("strategy", ["hgc-fo", "hgc-ho"])
def test_contrast_improves_retrieval_of_positives(strategy: Strategy, folder: Path, url: str) -> None:
    run = trained(strategy, folder, url)
    assert run.mean_loss(slice(-30, None)) <= 0.6 * run.mean_loss(slice(30))
    assert mean_retrieval(run.after, run) > mean_retrieval(run.before, run)
    assert run.records[-1]["wait_share"] < 0.02


@pytest.mark.parametrize("strategy", ["adam", "rdm"])
def test_masking_predicts_better_than_always_carbon(strategy: Strategy, folder: Path, url: str) -> None:
    run = trained(strategy, folder, url)
    atom_type, predicted = (torch.cat(parts) for parts in zip(*at_masked_atoms(run), strict=True))
    accuracy, carbon = (predicted == atom_type).float().mean(), (atom_type == CARBON).float().mean()
    assert accuracy >= carbon + 0.05
    assert run.records[-1]["wait_share"] < 0.02


@torch.no_grad()
def at_masked_atoms(run: Trained) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield types and predictions at masked atoms, batch by batch, with uniform masks for all strategies."""
    objective, generator = run.after.eval(), torch.Generator().manual_seed(0)
    for ids in run.held_out[..., 0]:
        batch = run.assembler.batch(ids)
        mask = choose(uniform(), batch, objective.atoms, generator)
        yield batch.atom_type[mask], objective.atoms(batch.masked(mask)).argmax(1)[mask]
