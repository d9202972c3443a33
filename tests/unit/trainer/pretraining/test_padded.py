"""Steps over padded batches against the same steps without padding."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.model.batch import Assembler, Batch, Graphs, Shape
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining import masking
from graphkin.trainer.pretraining.captured import PaddedSteps, obstacle
from graphkin.trainer.pretraining.checkpoint import Checkpoint
from graphkin.trainer.pretraining.clock import Clock
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import Draw, Objective, Part, Step
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.schedule import learning_rate
from graphkin.trainer.pretraining.trainer import Trainer, make_objective
from graphkin.trainer.pretraining.viewed import ViewedGraphs
from graphkin.trainer.pretraining.widening import widen
from graphkin.trainer.strategy import ENCODERS, LEARNED_BY, Encoder, Strategy, Views

SIZES = [5, 9, 12, 30, 7, 1, 22, 14, 14, 8, 3, 17, 25, 6, 11, 19]
ANCHORS = np.array([3, 8, 1, 14, 5, 12], np.int32)
POSITIVES = np.array([[8, 2, 2], [3, 0, 5], [7, 1, 4], [15, 6, 9], [0, 1, 2], [3, 3, 3]], np.int32)
NEGATIVES = np.array([2, 10, 11, 14, 3, 13], np.int32)
CAPTURED: tuple[Strategy, ...] = ("hgc-fo", "hgc-ho", "adam", "rdm", "hgc-adam-fo", "hgc-adam-ho", "infomax")
READING = ("_local_scalar_dense", "nonzero", "unique", "masked_select", "bincount", "is_nonzero")
"""Operations whose results the host reads, or whose sizes depend on values."""


@pytest.fixture(scope="module")
def corpus(random_corpus: Callable[..., Corpus]) -> Corpus:
    return random_corpus(SIZES, extra=1, seed=4)


@pytest.fixture(scope="module")
def assembler(corpus: Corpus) -> Assembler:
    return Assembler(corpus)


@pytest.fixture(scope="module")
def surroundings(corpus: Corpus) -> Assembler:
    return Assembler(corpus.around(corpus.atoms // 3, laplacian_eigenvectors(corpus)))


@pytest.fixture(autouse=True)
def noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give an atom the same noise in batches of any size."""

    def log_exponential(like: Tensor, generator: torch.Generator) -> Tensor:
        values = torch.empty(1000).exponential_(generator=generator)
        return values[: len(like)].clamp_min(1e-30).log().to(like)

    monkeypatch.setattr(masking, "_log_exponential", log_exponential)


def small(strategy: Strategy, encoder: Encoder = "gin", kind: str = "molecule", **options: Any) -> PretrainConfig:
    model = replace(Model.from_kind(kind, encoder), layers=2, width=12)
    config = PretrainConfig.from_strategy(strategy, kind=kind, model=model, batch_size=6, **options)
    return replace(config, draws=replace(config.draws, negatives=min(config.draws.negatives, 5)))


def draw(config: PretrainConfig) -> Draw:
    slots = min(3, config.draws.policy.k) if config.draws.policy else 0
    return Draw(ANCHORS, POSITIVES[:, :slots], NEGATIVES if config.draws.negatives else NEGATIVES[:0])


def padded_step(sample: Draw, assembler: Assembler) -> Step:
    def batch_of(_: Part, ids: Tensor) -> Batch:
        return assembler.padded_batch(ids, Shape.holding(*assembler.sizes[ids].sum(0).tolist()))

    anchors, positives, negatives = (
        torch.from_numpy(each).long() for each in (sample.anchors, sample.positives, sample.negatives)
    )
    return Step.from_tensors(anchors, positives, negatives, batch_of)


def losses_and_gradient(made: Objective, step: Step) -> dict[str, Tensor]:
    """Return the losses, the gradients of all parameters as one vector, and the running statistics."""
    made.zero_grad()
    losses = made(step, torch.Generator().manual_seed(9), measure=True)
    losses["loss"].backward()
    gradient = torch.cat([each.grad.flatten() for each in made.parameters() if each.grad is not None])
    statistics = {name: each.clone().double() for name, each in made.named_buffers()}
    return {**losses, "gradient": gradient, **statistics}


def assert_padding_changes_nothing(
    config: PretrainConfig, assembler: Assembler, type: torch.dtype, tolerance: float
) -> None:
    torch.manual_seed(0)
    made = make_objective(config).to(type)
    state = {name: each.clone() for name, each in made.state_dict().items()}
    expected = losses_and_gradient(made, Step.from_draw(draw(config), assembler))
    made.load_state_dict(state)
    result = losses_and_gradient(made, padded_step(draw(config), assembler))
    assert result.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.linalg.norm(result[name] - value) <= tolerance * torch.linalg.norm(value), name


PRECISIONS = pytest.mark.parametrize(("type", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])


@PRECISIONS
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strategy", CAPTURED)
def test_padding_changes_no_loss_and_no_gradient(
    assembler: Assembler, strategy: Strategy, encoder: Encoder, type: torch.dtype, tolerance: float
) -> None:
    assert_padding_changes_nothing(small(strategy, encoder), assembler, type, tolerance)


@PRECISIONS
@pytest.mark.parametrize("preset", ["paper", "rc"])
def test_padding_changes_no_mask(assembler: Assembler, preset: Any, type: torch.dtype, tolerance: float) -> None:
    assert_padding_changes_nothing(small("adam", preset=preset), assembler, type, tolerance)


@PRECISIONS
@pytest.mark.parametrize("encoder", ENCODERS)
def test_padding_changes_nothing_for_nodes(
    surroundings: Assembler, encoder: Encoder, type: torch.dtype, tolerance: float
) -> None:
    assert_padding_changes_nothing(small("hgc-fo", encoder, "node"), surroundings, type, tolerance)


@pytest.mark.parametrize("count", [1, 63, 64, 1000, 23_700, 10**6])
def test_shape_holds_its_margin_and_few_sizes_exist(count: int) -> None:
    atoms, edges = Shape.holding(count, 2 * count)
    assert count + count / 64 < atoms <= 1.2 * count + 10
    assert edges > 2 * count
    assert len({Shape.holding(each, 0).atoms for each in range(2**14, 2**15)}) <= 10


def epochs(config: PretrainConfig, size: int) -> list[Plan]:
    random = np.random.default_rng(1)
    slots = config.draws.policy.k if config.draws.policy else 0
    samples = [
        Epoch(
            random.integers(size, size=(size, slots)).astype(np.int32),
            random.integers(size, size=(3, config.draws.negatives)).astype(np.int32),
        )
        for _ in range(2)
    ]
    return [Plan(config, epoch, each) for epoch, each in enumerate(samples)]


@pytest.mark.parametrize("strategy", CAPTURED)
def test_padded_run_has_the_losses_of_an_unpadded_one(assembler: Assembler, strategy: Strategy) -> None:
    """The third batch of each epoch has four anchors instead of six."""
    config, twins = small(strategy), np.arange(16)
    plans = epochs(config, 16)
    steps = sum(plan.steps for plan in plans)
    trainer = Trainer(config, assembler, twins)
    padded_trainer = Trainer(config, assembler, twins, is_rate_on_device=True)
    padded = PaddedSteps(padded_trainer, capture=False)
    places = [(plan, place) for plan in plans for place in range(plan.steps)]
    for step, (plan, place) in enumerate(places):
        rate = learning_rate(config.optimization, step, steps, plan.steps, plan.batch_size)
        expected = trainer.step(step, rate, plan.draw(place), Clock(), measure=step % 2 == 0)
        result = padded.step(step, steps, plan, place, measure=step % 2 == 0)
        assert result.keys() == expected.keys()
        assert float(result["loss"]) == pytest.approx(float(expected["loss"]), rel=1e-4)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strategy", CAPTURED)
def test_wide_model_trains_as_the_narrow_one(assembler: Assembler, strategy: Strategy, encoder: Encoder) -> None:
    """Every weight that widening adds is still 0 after three steps."""
    config = small(strategy, encoder)
    plan, _ = epochs(config, 16)
    trainer, wide_trainer = (
        Trainer(config, assembler, np.arange(16), is_rate_on_device=True, is_wide=is_wide) for is_wide in (False, True)
    )
    width = 16 if wide_trainer.objective.can_widen else 12
    assert (trainer.objective.encoder.width, wide_trainer.objective.encoder.width) == (12, width)
    steps, wide_steps = PaddedSteps(trainer, capture=False), PaddedSteps(wide_trainer, capture=False)
    for place in range(plan.steps):
        expected, result = (each.step(place, plan.steps, plan, place) for each in (steps, wide_steps))
        assert float(result["loss"]) == pytest.approx(float(expected["loss"]), rel=1e-4)
    state = wide_trainer.checkpoint(3, 3, 0)
    for name, parameter in wide_trainer.objective.named_parameters():
        assert torch.equal(widen(state.model[name], parameter.shape), parameter), name


def test_wide_model_continues_from_its_checkpoint(assembler: Assembler) -> None:
    config = small("hgc-adam-fo")
    plan, _ = epochs(config, 16)
    trainer, other = (Trainer(config, assembler, np.arange(16), is_rate_on_device=True, is_wide=True) for _ in range(2))
    steps = PaddedSteps(trainer, capture=False)
    for place in range(2):
        steps.step(place, 3, plan, place)
    state = trainer.checkpoint(2, 3, 0)
    copies = ({name: value.clone() for name, value in each.items()} for each in (state.model, state.optimizer))
    other.restore(Checkpoint(2, 3, 0, *copies))
    expected = steps.step(2, 3, plan, 2)["loss"]
    assert torch.equal(PaddedSteps(other, capture=False).step(2, 3, plan, 2)["loss"], expected)


class NothingRead(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert not any(name in str(func) for name in READING), func
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strategy", CAPTURED)
def test_padded_step_reads_nothing_back(assembler: Assembler, strategy: Strategy, encoder: Encoder) -> None:
    config = small(strategy, encoder)
    (plan, _) = epochs(config, 16)
    padded = PaddedSteps(Trainer(config, assembler, np.arange(16), is_rate_on_device=True), capture=False)
    padded.step(0, 3, plan, 0)
    with NothingRead():
        padded.step(1, 3, plan, 1, measure=True)


def test_unpadded_step_would_be_noticed_to_read(assembler: Assembler) -> None:
    config = small("adam")
    trainer, (plan, _) = Trainer(config, assembler), epochs(config, 16)
    with NothingRead(), pytest.raises(AssertionError, match="_local_scalar_dense"):
        trainer.step(0, 1e-3, plan.draw(0), Clock())


def test_every_strategy_is_captured_or_says_why_not(assembler: Assembler, corpus: Corpus) -> None:
    reasons = {strategy: obstacle(small(strategy), assembler, ALONE) for strategy in LEARNED_BY["molecule"]}
    assert {strategy for strategy, reason in reasons.items() if reason is None} >= {*CAPTURED}
    assert obstacle(small("hgc-fo"), assembler, Ranks(0, 2)) == "several processes train together"
    views: Graphs = ViewedGraphs(corpus, Views(), 0)
    assert obstacle(small("graphcl"), views, ALONE) == "its graphs are sampled on the host"
