"""Steps over padded batches against the same steps without padding."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler, Batch, Shape
from graphkin.trainer.pretraining import masking
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import Draw, Objective, Part, Step
from graphkin.trainer.pretraining.trainer import make_objective
from graphkin.trainer.strategy import ENCODERS, Encoder, Strategy

SIZES = [5, 9, 12, 30, 7, 1, 22, 14, 14, 8, 3, 17, 25, 6, 11, 19]
ANCHORS = np.array([3, 8, 1, 14, 5, 12], np.int32)
POSITIVES = np.array([[8, 2, 2], [3, 0, 5], [7, 1, 4], [15, 6, 9], [0, 1, 2], [3, 3, 3]], np.int32)
NEGATIVES = np.array([2, 10, 11, 14, 3, 13], np.int32)
PADDED: tuple[Strategy, ...] = ("hgc-fo", "hgc-ho", "adam", "rdm", "hgc-adam-fo", "hgc-adam-ho", "infomax")


@pytest.fixture(scope="module")
def assembler(random_corpus: Callable[..., Corpus]) -> Assembler:
    return Assembler(random_corpus(SIZES, extra=1, seed=4))


@pytest.fixture(autouse=True)
def noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give an atom the same noise in batches of any size."""

    def log_exponential(like: Tensor, generator: torch.Generator) -> Tensor:
        values = torch.empty(1000).exponential_(generator=generator)
        return values[: len(like)].clamp_min(1e-30).log().to(like)

    monkeypatch.setattr(masking, "_log_exponential", log_exponential)


def draw(strategy: Strategy) -> Draw:
    slots = 3 if strategy.startswith("hgc") else 0
    negatives = NEGATIVES if strategy.endswith("-ho") else NEGATIVES[:0]
    return Draw(ANCHORS, POSITIVES[:, :slots], negatives)


def padded_step(sample: Draw, assembler: Assembler) -> Step:
    def batch_of(_: Part, ids: Tensor) -> Batch:
        return assembler.padded_batch(ids, Shape.holding(*assembler.sizes[ids].sum(0).tolist()))

    ids = (torch.from_numpy(each).long() for each in (sample.anchors, sample.positives, sample.negatives))
    return Step.from_tensors(*ids, batch_of)


def losses_and_gradients(made: Objective, step: Step) -> dict[str, Tensor]:
    """Return the losses, the gradients of all parameters as one vector, and the running statistics."""
    made.zero_grad()
    losses = made(step, torch.Generator().manual_seed(9), measure=True)
    losses["loss"].backward()
    gradient = torch.cat([each.grad.flatten() for each in made.parameters() if each.grad is not None])
    statistics = {name: each.clone().double() for name, each in made.named_buffers()}
    return {**losses, "gradient": gradient, **statistics}


@pytest.mark.parametrize(("type", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strategy", PADDED)
def test_padding_changes_no_loss_and_no_gradient(
    assembler: Assembler, strategy: Strategy, encoder: Encoder, type: torch.dtype, tolerance: float
) -> None:
    config = PretrainConfig.from_strategy(strategy)
    config = replace(config, model=Model(encoder, layers=2, width=12))
    torch.manual_seed(0)
    made = make_objective(config).to(type)
    state = {name: each.clone() for name, each in made.state_dict().items()}
    expected = losses_and_gradients(made, Step.from_draw(draw(strategy), assembler))
    made.load_state_dict(state)
    result = losses_and_gradients(made, padded_step(draw(strategy), assembler))
    assert result.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.linalg.norm(result[name] - value) <= tolerance * torch.linalg.norm(value), name
