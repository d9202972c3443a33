"""Two processes train as one would: losses, gradients, weights, running statistics."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed
from torch.multiprocessing.spawn import spawn

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import Draw
from graphkin.trainer.pretraining.pretrain import Clock, Trainer
from graphkin.trainer.strategy import STRATEGIES, Strategy

STEPS = 5


def corpus() -> Corpus:
    """Rings of 3 to 26 atoms: shares of a batch have unequal numbers of atoms."""
    sizes = np.arange(3, 27)
    random = np.random.default_rng(0)
    bonds = [(atom, (atom + 1) % size, int(random.integers(12))) for size in sizes for atom in range(size)]
    atoms = np.stack([random.integers(20, size=sizes.sum()), random.integers(3, size=sizes.sum())], axis=1)
    return Corpus.from_bonds("rings", sizes, sizes, atoms, np.array(bonds))


def draws(config: PretrainConfig) -> list[Draw]:
    """Seven anchors: shares of three and four."""
    random = np.random.default_rng(1)
    slots = config.draws.policy.k if config.draws.policy else 0
    made = []
    for _ in range(STEPS):
        anchors = np.sort(random.choice(24, 7, replace=False))[::-1]
        positives = random.integers(24, size=(7, slots))
        negatives = random.choice(24, config.draws.negatives)
        made.append(Draw(anchors.astype(np.int32), positives.astype(np.int32), negatives.astype(np.int32)))
    return made


def options(strategy: Strategy) -> PretrainConfig:
    config = PretrainConfig.of(strategy, batch_size=7)
    draws = replace(config.draws, negatives=5 if config.draws.negatives else 0)
    return replace(config, draws=draws, model=Model(layers=2, width=8))


def train(strategy: Strategy, ranks: Ranks) -> dict[str, torch.Tensor]:
    """Losses and first gradients, and weights after five steps, in float64."""
    torch.set_default_dtype(torch.float64)
    config = options(strategy)
    trainer = Trainer(config, Assembler(corpus()), ranks=ranks)
    found: dict[str, torch.Tensor] = {}
    for step, draw in enumerate(draws(config)):
        losses = trainer.step(step, 1e-3, draw, Clock())
        found |= {f"loss.{step}.{name}": loss for name, loss in losses.items()}
        if step == 0:
            named = trainer.objective.named_parameters()
            found |= {
                f"gradient.{name}": parameter.grad.clone() for name, parameter in named if parameter.grad is not None
            }
    return found | {f"state.{name}": value for name, value in trainer.objective.state_dict().items()}


def work(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    found = {strategy: train(strategy, Ranks.initialized()) for strategy in STRATEGIES}
    torch.save(found, folder / f"rank{rank}")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[dict[Strategy, dict[str, torch.Tensor]]]:
    folder = tmp_path_factory.mktemp("ranks")
    spawn(work, (folder,), nprocs=2)
    return [torch.load(folder / f"rank{rank}") for rank in range(2)]


@pytest.fixture
def float64() -> object:
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_ranks_equal_one(
    strategy: Strategy, both: list[dict[Strategy, dict[str, torch.Tensor]]], float64: object
) -> None:
    alone = train(strategy, ALONE)
    largest = max(float(value.abs().max()) for name, value in alone.items() if name.startswith("gradient"))
    for rank in both:
        assert rank[strategy].keys() == alone.keys()
        for name, value in alone.items():
            tolerance = {"loss": 1e-10, "gradient": 1e-10 * largest, "state": 1e-7}[name.split(".")[0]]
            if name.startswith("loss") and ".0." not in name:
                tolerance = 1e-7  # of weights that may differ by as much
            torch.testing.assert_close(rank[strategy][name], value, rtol=0, atol=tolerance, msg=name)


@pytest.mark.parametrize("count", [2, 5, 7])
def test_shares_cover_everything_once(count: int) -> None:
    shares = [range(count)[Ranks(rank, 3).share(count)] for rank in range(3)]
    assert [each for share in shares for each in share] == list(range(count))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
