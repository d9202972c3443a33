"""Steps over padded batches against the same steps without padding."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from graphkin.trainer.features.altered import random_state
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.model.batch import Assembler, Batch, PaddedGraphs, Part, Shape
from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining import masking
from graphkin.trainer.pretraining.captured import PaddedSteps, obstacle
from graphkin.trainer.pretraining.checkpoint import Checkpoint
from graphkin.trainer.pretraining.clock import Clock
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import Draw, Objective, Step, make_encoder
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.schedule import learning_rate
from graphkin.trainer.pretraining.trainer import Trainer, make_objective
from graphkin.trainer.pretraining.viewed import ViewedGraphs
from graphkin.trainer.pretraining.widening import widen
from graphkin.trainer.strategy import ENCODERS, LEARNED_BY, NODE_ENCODERS, Encoder, Operation, Strategy, Views

SIZES = [5, 9, 12, 30, 7, 1, 22, 14, 14, 8, 3, 17, 25, 6, 11, 19]
ANCHORS = np.array([3, 8, 1, 14, 5, 12], np.int32)
POSITIVES = np.array([[8, 2, 2], [3, 0, 5], [7, 1, 4], [15, 6, 9], [0, 1, 2], [3, 3, 3]], np.int32)
NEGATIVES = np.array([2, 10, 11, 14, 3, 13], np.int32)
CAPTURED = tuple(strategy for strategy in LEARNED_BY["molecule"] if strategy != "edge-pred")
KEY = torch.tensor(int(random_state((0, 0)).view(np.int64)))
READING = ("_local_scalar_dense", "nonzero", "unique", "masked_select", "bincount", "is_nonzero")
"""Operations whose results the host reads, or whose sizes depend on values."""


@pytest.fixture(scope="module")
def corpus(random_corpus: Callable[..., Corpus]) -> Corpus:
    return random_corpus(SIZES, extra=1, seed=4)


@pytest.fixture(scope="module")
def assembler(corpus: Corpus) -> Assembler:
    return Assembler(corpus)


@pytest.fixture(scope="module")
def surroundings(corpus: Corpus) -> Corpus:
    return corpus.around(corpus.atoms // 3, laplacian_eigenvectors(corpus))


@pytest.fixture(autouse=True)
def noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give an atom the same noise in batches of any size."""

    def log_exponential(like: Tensor, generator: torch.Generator) -> Tensor:
        values = torch.empty(1000).exponential_(generator=generator)
        return values[: len(like)].clamp_min(1e-30).log().to(like)

    monkeypatch.setattr(masking, "_log_exponential", log_exponential)


def small(strategy: Strategy, encoder: str = "gin", kind: str = "molecule", **options: Any) -> PretrainConfig:
    model = replace(Model.from_kind(kind, encoder), layers=2, width=12)
    config = PretrainConfig.from_strategy(strategy, kind=kind, model=model, batch_size=6, **options)
    return replace(config, draws=replace(config.draws, negatives=min(config.draws.negatives, 5)))


def draw(config: PretrainConfig) -> Draw:
    slots = min(3, config.draws.policy.k) if config.draws.policy else 0
    positives = POSITIVES[:, :slots] if config.draws.views is None else ANCHORS[:, None]
    return Draw(ANCHORS, positives, NEGATIVES if config.draws.negatives else NEGATIVES[:0])


def graphs_of(config: PretrainConfig, corpus: Corpus) -> PaddedGraphs:
    views = config.draws.views
    return Assembler(corpus) if views is None else ViewedGraphs(corpus, views, config.draws.seed)


def padded_step(sample: Draw, graphs: PaddedGraphs) -> Step:
    def batch_of(part: Part, ids: Tensor) -> Batch:
        return graphs.padded_batch(ids, Shape.holding(*graphs.sizes[ids].sum(0).tolist()), KEY, part)

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


def assert_padding_changes_nothing(config: PretrainConfig, corpus: Corpus, type: torch.dtype, tolerance: float) -> None:
    graphs = graphs_of(config, corpus)
    torch.manual_seed(0)
    made = make_objective(config).to(type)
    state = {name: each.clone() for name, each in made.state_dict().items()}
    expected = losses_and_gradient(made, Step.from_draw(draw(config), graphs))
    made.load_state_dict(state)
    result = losses_and_gradient(made, padded_step(draw(config), graphs))
    assert result.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.linalg.norm(result[name] - value) <= tolerance * torch.linalg.norm(value), name


PRECISIONS = pytest.mark.parametrize(("type", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])


@PRECISIONS
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strategy", CAPTURED)
def test_padding_changes_no_loss_and_no_gradient(
    corpus: Corpus, strategy: Strategy, encoder: Encoder, type: torch.dtype, tolerance: float
) -> None:
    assert_padding_changes_nothing(small(strategy, encoder), corpus, type, tolerance)


@PRECISIONS
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strategy", ["hgc-fo", "adam", "graphcl"])
def test_padding_changes_nothing_with_rich_features(
    corpus: Corpus, strategy: Strategy, encoder: Encoder, type: torch.dtype, tolerance: float
) -> None:
    random, config = np.random.default_rng(2), small(strategy, encoder)
    details = random.integers(1, 3565, len(corpus.atom_type)), random.integers(1, 33, len(corpus.bond))
    rich = replace(corpus, atom_details=details[0], bond_details=details[1])
    config = replace(config, model=replace(config.model, features="rich"))
    assert_padding_changes_nothing(config, rich, type, tolerance)


@PRECISIONS
@pytest.mark.parametrize("strategy", ["graphcl", "c-subgraph"])
@pytest.mark.parametrize("loss", ["graphcl", "nt-xent"])
def test_padding_changes_no_loss_of_views(
    corpus: Corpus, strategy: Strategy, loss: Any, type: torch.dtype, tolerance: float
) -> None:
    config = small(strategy)
    assert config.contrast is not None
    config = replace(config, contrast=replace(config.contrast, loss=loss))
    assert_padding_changes_nothing(config, corpus, type, tolerance)


@PRECISIONS
@pytest.mark.parametrize("preset", ["paper", "rc"])
def test_padding_changes_no_mask(corpus: Corpus, preset: Any, type: torch.dtype, tolerance: float) -> None:
    assert_padding_changes_nothing(small("adam", preset=preset), corpus, type, tolerance)


@PRECISIONS
@pytest.mark.parametrize("encoder", [*ENCODERS, *NODE_ENCODERS])
def test_padding_changes_nothing_for_nodes(
    surroundings: Corpus, encoder: str, type: torch.dtype, tolerance: float
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
def test_padded_run_has_the_losses_of_an_unpadded_one(corpus: Corpus, strategy: Strategy) -> None:
    """The third batch of each epoch has four anchors instead of six."""
    config, twins = small(strategy), np.arange(16)
    graphs = graphs_of(config, corpus)
    plans = epochs(config, 16)
    steps = sum(plan.steps for plan in plans)
    trainer = Trainer(config, graphs, twins)
    padded_trainer = Trainer(config, graphs, twins, is_rate_on_device=True)
    for each in (trainer, padded_trainer):
        each.objective.double()  # rounding would grow from step to step
    padded = PaddedSteps(padded_trainer, capture=False)
    places = [(plan, place) for plan in plans for place in range(plan.steps)]
    for step, (plan, place) in enumerate(places):
        rate = learning_rate(config.optimization, step, steps)
        expected = trainer.step(step, rate, plan.draw(place), Clock(), measure=step % 2 == 0)
        result = padded.step(step, steps, plan, place, measure=step % 2 == 0)
        assert result.keys() == expected.keys()
        assert float(result["loss"]) == pytest.approx(float(expected["loss"]), rel=1e-6)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strategy", CAPTURED)
def test_wide_model_trains_as_the_narrow_one(corpus: Corpus, strategy: Strategy, encoder: Encoder) -> None:
    """Every weight that widening adds is still 0 after three steps."""
    config = small(strategy, encoder)
    graphs = graphs_of(config, corpus)
    plan, _ = epochs(config, 16)
    trainer, wide_trainer = (
        Trainer(config, graphs, np.arange(16), is_rate_on_device=True, is_wide=is_wide) for is_wide in (False, True)
    )
    width = 16 if wide_trainer.objective.can_widen else 12
    assert (trainer.objective.encoder.width, wide_trainer.objective.encoder.width) == (12, width)
    for each in (trainer, wide_trainer):
        each.objective.double()  # rounding would grow from step to step
    steps, wide_steps = PaddedSteps(trainer, capture=False), PaddedSteps(wide_trainer, capture=False)
    for place in range(plan.steps):
        expected, result = (run.step(place, plan.steps, plan, place) for run in (steps, wide_steps))
        assert float(result["loss"]) == pytest.approx(float(expected["loss"]), rel=1e-6)
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


def test_wide_model_starts_from_narrow_weights(assembler: Assembler) -> None:
    config = small("hgc-fo")
    trainer = Trainer(config, assembler, np.arange(16), is_rate_on_device=True, is_wide=True)
    assert trainer.objective.encoder.width == 16
    start = make_encoder(config.model).state_dict()
    trainer.start_from(start)
    model = trainer.checkpoint(0, 1, 0).model
    assert all(torch.equal(model[f"encoder.{name}"], value) for name, value in start.items())
    for name, parameter in trainer.objective.named_parameters():
        assert torch.equal(widen(model[name], parameter.shape), parameter), name


class NothingRead(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert not any(name in str(func) for name in READING), func
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strategy", CAPTURED)
def test_padded_step_reads_nothing_back(corpus: Corpus, strategy: Strategy, encoder: Encoder) -> None:
    config = small(strategy, encoder)
    graphs = graphs_of(config, corpus)
    (plan, _) = epochs(config, 16)
    padded = PaddedSteps(Trainer(config, graphs, np.arange(16), is_rate_on_device=True), capture=False)
    padded.step(0, 3, plan, 0)
    with NothingRead():
        padded.step(1, 3, plan, 1, measure=True)


def test_unpadded_step_would_be_noticed_to_read(assembler: Assembler) -> None:
    config = small("adam")
    trainer, (plan, _) = Trainer(config, assembler), epochs(config, 16)
    with NothingRead(), pytest.raises(AssertionError, match="_local_scalar_dense"):
        trainer.step(0, 1e-3, plan.draw(0), Clock())


def test_every_strategy_is_captured_or_says_why_not(assembler: Assembler, corpus: Corpus) -> None:
    configs = {strategy: small(strategy) for strategy in LEARNED_BY["molecule"]}
    reasons = {strategy: obstacle(config, graphs_of(config, corpus), ALONE) for strategy, config in configs.items()}
    assert {strategy for strategy, reason in reasons.items() if reason is None} == {*CAPTURED}
    assert reasons["edge-pred"] == ("the number of attempts that sampling unbonded pairs takes depends on the data")
    assert obstacle(configs["hgc-fo"], assembler, Ranks(0, 2)) == "several processes train together"
    augmented = small("hgc-fo", positives="augmented")
    assert obstacle(augmented, graphs_of(augmented, corpus), ALONE) == "its views are made on the host"


@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("operations", [("drop-nodes",), ("subgraph",), ("walk",), ("drop-nodes", "subgraph")])
def test_views_made_on_the_device_are_those_of_the_host(
    random_corpus: Callable[..., Corpus], operations: tuple[Operation, ...], ratio: float
) -> None:
    corpus = random_corpus(np.random.default_rng(0).integers(1, 40, size=60).tolist())
    graphs, anchors = ViewedGraphs(corpus, Views(operations, ratio, True), 3), np.random.default_rng(1).permutation(30)
    ids, key = np.concatenate([anchors, anchors]), int(random_state((3, 5)).view(np.int64))
    shape = Shape.holding(*graphs.sizes[ids].sum(0).tolist())
    expected, result = graphs.batch(ids, 5), graphs.padded_batch(torch.from_numpy(ids), shape, torch.tensor(key))
    assert result.padding is not None
    assert int(result.padding.atoms) == expected.atoms
    assert (result.atoms, len(result.bond)) == shape
    edges = len(expected.bond)
    for name in ("atom_type", "chirality", "graph"):
        assert torch.equal(getattr(result, name)[: expected.atoms], getattr(expected, name))
    assert torch.equal(result.edge_index[:, :edges], expected.edge_index)
    assert torch.equal(result.bond[:edges], expected.bond)
    assert torch.equal(result.atom_ptr[:-1], expected.atom_ptr)
    assert (result.edge_index[:, edges:] >= expected.atoms).all()
    assert result.edge_ptr.tolist() == [0, *torch.bincount(result.edge_index[1], minlength=shape.atoms).cumsum(0)]


def test_first_and_second_views_are_those_of_the_whole_batch(random_corpus: Callable[..., Corpus]) -> None:
    corpus = random_corpus(SIZES)
    graphs, anchors, key = ViewedGraphs(corpus, Views(anchors=True), 3), torch.arange(16), torch.tensor(7)
    shape = Shape.holding(*(2 * graphs.sizes.sum(0)).tolist())
    whole = graphs.padded_batch(anchors.repeat(2), shape, key)
    first, second = (graphs.padded_batch(anchors, shape, key, part) for part in ("anchors", "others"))
    types = [batch.atom_type[: int(batch.padding.atoms)] for batch in (whole, first, second) if batch.padding]
    assert torch.equal(types[0], torch.cat(types[1:]))
    assert torch.equal(whole.atom_ptr.diff()[:-1], torch.cat([first.atom_ptr.diff()[:-1], second.atom_ptr.diff()[:-1]]))
    assert not torch.equal(first.atom_type, second.atom_type)
