"""Two processes train like one: losses, gradients, weights and running statistics are equal."""

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
import torch.distributed
from torch.multiprocessing.spawn import spawn

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.features.network import Network
from graphkin.trainer.model.batch import Assembler, Graphs
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.clock import Clock
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.objective import Draw
from graphkin.trainer.pretraining.trainer import Trainer
from graphkin.trainer.pretraining.viewed import ViewedGraphs
from graphkin.trainer.pretraining.walked import WalkedGraphs
from graphkin.trainer.strategy import LEARNED_BY, Strategy

STEPS = 5
CASES = [(kind, strategy) for kind in ("molecule", "node") for strategy in LEARNED_BY[kind]]

Case = tuple[str, Strategy]
Values = dict[str, torch.Tensor]


def corpus() -> Corpus:
    """Return rings of 3 to 26 atoms, so that shares of a batch have unequal numbers of atoms."""
    sizes = np.arange(3, 27)
    random = np.random.default_rng(0)
    bonds = [(atom, (atom + 1) % size, int(random.integers(12))) for size in sizes for atom in range(size)]
    atoms = np.stack([random.integers(20, size=sizes.sum()), random.integers(3, size=sizes.sum())], axis=1)
    rings = Corpus.from_bonds("rings", sizes, sizes, atoms, np.array(bonds))
    return rings.around(sizes // 2, laplacian_eigenvectors(rings))


def graphs(config: PretrainConfig) -> Graphs:
    """Return the rings, or subgraphs of a random graph with as many nodes."""
    if config.draws.views is not None:
        return ViewedGraphs(corpus(), config.draws.views, seed=3)
    if config.draws.walks is None:
        return Assembler(corpus())
    edges = np.array(nx.gnm_random_graph(24, 60, seed=0).edges)
    return WalkedGraphs(Network.from_edges(edges, 24), config.draws.walks, seed=3)


def sample_batches(config: PretrainConfig) -> list[Draw]:
    """Return batches of seven anchors, for shares of three and four.

    In the fourth step, the share of four has no ring of ten or more atoms, and therefore no context. In the other steps
    it has one.
    """
    random = np.random.default_rng(1)
    slots, is_own_positive = (
        config.draws.policy.k if config.draws.policy else 0,
        config.draws.walks or config.draws.views,
    )
    batches = []
    for _ in range(STEPS):
        anchors = np.sort(random.choice(24, 7, replace=False))[::-1]
        positives = anchors[:, None] if is_own_positive else random.integers(24, size=(7, slots))
        negatives = random.choice(24, config.draws.negatives)
        batches.append(Draw(anchors.astype(np.int32), positives.astype(np.int32), negatives.astype(np.int32)))
    return batches


def options(case: Case) -> PretrainConfig:
    kind, strategy = case
    config = PretrainConfig.from_strategy(strategy, kind=kind, batch_size=7, queue=17 if kind == "node" else None)
    sample_batches = replace(config.draws, negatives=5 if config.draws.negatives else 0)
    return replace(config, draws=sample_batches, model=replace(config.model, layers=2, width=8))


def train(case: Case, ranks: Ranks) -> Values:
    """Return losses, first nonzero gradients, as with an empty queue, and weights after five steps, in float64."""
    torch.set_default_dtype(torch.float64)
    config = options(case)
    trainer = Trainer(config, graphs(config), ranks=ranks)
    values: Values = {}
    for step, draw in enumerate(sample_batches(config)):
        losses = trainer.step(step, 1e-3, draw, Clock())
        values |= {f"loss.{step}.{name}": loss for name, loss in losses.items()}
        if step == (case[0] == "node"):
            named = trainer.objective.named_parameters()
            values |= {
                f"gradient.{name}": parameter.grad.clone() for name, parameter in named if parameter.grad is not None
            }
    return values | {f"state.{name}": value for name, value in trainer.objective.state_dict().items()}


def work(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    values = {case: train(case, Ranks.initialized()) for case in CASES}
    torch.save(values, folder / f"rank{rank}")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def results_of_ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[Case, Values]]:
    folder = tmp_path_factory.mktemp("ranks")
    spawn(work, (folder,), nprocs=2)
    return [torch.load(folder / f"rank{rank}", weights_only=True) for rank in range(2)]


@pytest.fixture
def float64() -> object:
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_two_ranks_equal_one(case: Case, results_of_ranks: list[dict[Case, Values]], float64: object) -> None:
    expected = train(case, ALONE)
    largest = max(float(value.abs().max()) for name, value in expected.items() if name.startswith("gradient"))
    assert largest > 0
    for rank in results_of_ranks:
        assert rank[case].keys() == expected.keys()
        for name, value in expected.items():
            tolerance = {"loss": 1e-10, "gradient": 1e-10 * largest, "state": 1e-7}[name.split(".")[0]]
            if name.startswith("loss") and ".0." not in name:
                tolerance = 1e-7  # The tolerance of weights, which may differ by this much.
            torch.testing.assert_close(rank[case][name], value, rtol=0, atol=tolerance, msg=name)


@pytest.mark.parametrize("count", [2, 5, 7])
def test_shares_cover_everything_once(count: int) -> None:
    shares = [range(count)[Ranks(rank, 3).share(count)] for rank in range(3)]
    assert [each for share in shares for each in share] == list(range(count))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
