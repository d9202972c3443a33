"""What a step minimises, against its parts called one by one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.norm import frozen_statistics
from graphkin.trainer.pretraining.config import Contrast, Model, PretrainConfig
from graphkin.trainer.pretraining.hgc import (
    EdgeSet,
    first_order_loss,
    graphcl_loss,
    high_order_loss,
    in_batch_masks,
    nt_xent_loss,
    shared_mask,
    unit,
)
from graphkin.trainer.pretraining.joint import JointObjective
from graphkin.trainer.pretraining.masking import Masking, choose, masking_loss
from graphkin.trainer.pretraining.objective import Draw, Step

MODEL = Model(layers=2, width=12)
ANCHORS = np.array([3, 8, 1, 14], np.int32)
POSITIVES = np.array([[8, 2, 2], [3, 0, 5], [7, 1, 4], [15, 6, 9]], np.int32)
NEGATIVES = np.array([2, 10, 11, 14, 3, 13], np.int32)
NONE = np.empty(0, np.int32)


@pytest.fixture(scope="module")
def many(random_corpus: Callable[..., Corpus]) -> Assembler:
    return Assembler(random_corpus([5, 9, 12, 30, 7, 1, 22, 14, 14, 8, 3, 17, 25, 6, 11, 19], seed=4))


def objective(config: PretrainConfig, edges: EdgeSet | None = None) -> JointObjective:
    torch.manual_seed(0)
    return JointObjective(replace(config, model=MODEL), edges).double()


def losses(made: JointObjective, many: Assembler, draw: Draw) -> dict[str, torch.Tensor]:
    return made(Step.from_draw(draw, many), torch.Generator().manual_seed(9))


@pytest.mark.parametrize("shared", [False, True])
def test_contrast_shares_one_forward(many: Assembler, shared: bool) -> None:
    """Anchors, positives and negatives are one population of batch normalisation."""
    negatives = NEGATIVES if shared else NONE
    made = objective(PretrainConfig.from_strategy("hgc-ho" if shared else "hgc-fo"))
    order = [3, 8, 1, 14, 8, 3, 7, 15, 2, 0, 1, 6, 2, 5, 4, 9, *negatives]
    z = unit(made.encoder.graphs(many.batch(np.array(order))))
    anchors, positives = torch.from_numpy(ANCHORS), torch.from_numpy(POSITIVES.T)
    k = torch.stack([z[4:8], z[8:12], z[12:16]])
    if shared:
        mask = shared_mask(anchors, positives, torch.from_numpy(NEGATIVES))
        expected = high_order_loss(z[:4], k, z[16:], 0.07, mask)
    else:
        expected = first_order_loss(z[:4], k, 0.07, in_batch_masks(anchors, positives))
    found = losses(made, many, Draw(ANCHORS, POSITIVES, negatives))
    assert found.keys() == {"hgc", "loss"}
    torch.testing.assert_close(found["hgc"], expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(found["loss"], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", ["graphcl", "nt-xent"])
def test_graphcl_encodes_its_views_in_two_passes_unless_the_loss_is_nt_xent(many: Assembler, loss: Any) -> None:
    config = PretrainConfig.from_strategy("graphcl")
    assert config.contrast == Contrast(0.1, loss="graphcl", head=True)
    made = objective(replace(config, contrast=replace(config.contrast, loss=loss)))
    draw = Draw(ANCHORS, POSITIVES[:, :1], NONE)
    result = losses(made, many, draw)["loss"]
    passes = 2 if loss == "graphcl" else 1
    assert {int(value) for name, value in made.named_buffers() if name.endswith("num_batches_tracked")} == {passes}
    batches = np.split(draw.ids(), passes)
    z = torch.cat([unit(made.projection(made.encoder.graphs(many.batch(ids)))) for ids in batches])
    compute = graphcl_loss if loss == "graphcl" else nt_xent_loss
    torch.testing.assert_close(result, compute(z[:4], z[4:], 0.1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("strategy", ["adam", "rdm"])
def test_masking_predicts_the_original_types(many: Assembler, strategy: str) -> None:
    made = objective(PretrainConfig.from_strategy(strategy))  # type: ignore[arg-type]
    masking = PretrainConfig.from_strategy(strategy).masking  # type: ignore[arg-type]
    assert masking is not None
    found = losses(made, many, Draw(ANCHORS, np.empty((4, 0), np.int32), NONE))
    batch = many.batch(ANCHORS)
    mask = choose(masking, batch, made.atoms, torch.Generator().manual_seed(9))
    expected = masking_loss(made.atoms(batch.masked(mask)), batch.atom_type, mask, masking.loss)
    torch.testing.assert_close(found["loss"], expected, rtol=0, atol=1e-12)
    assert found.keys() == {"masking", "loss"}


def test_joint_training_adds_both_on_one_encoder(many: Assembler) -> None:
    """Weight 1 each; the unmasked anchors feed HGC, and masks are on the anchors only (docs/reference/training.md)."""
    joint = objective(PretrainConfig.from_strategy("hgc-adam-fo"))
    draw = Draw(ANCHORS, POSITIVES, NONE)
    found = losses(joint, many, draw)
    torch.testing.assert_close(found["loss"], found["hgc"] + found["masking"])
    contrast_only = objective(PretrainConfig.from_strategy("hgc-fo"))
    contrast_only.encoder.load_state_dict(joint.encoder.state_dict())
    torch.testing.assert_close(found["hgc"], losses(contrast_only, many, draw)["hgc"])
    masked_only = objective(replace(PretrainConfig.from_strategy("adam"), masking=Masking(times=3, score="kl")))
    masked_only.load_state_dict(joint.state_dict())
    torch.testing.assert_close(
        found["masking"], losses(masked_only, many, Draw(ANCHORS, POSITIVES[:, :0], NONE))["loss"]
    )


def test_scoring_changes_nothing(many: Assembler) -> None:
    """H7. There are five scorings: four steps and a rest."""
    made = objective(replace(PretrainConfig.from_strategy("adam"), masking=Masking(times=4)))
    before = {name: value.clone() for name, value in made.state_dict().items()}
    batch = many.batch(ANCHORS)
    with frozen_statistics(made):
        choose(Masking(times=4), batch, made.atoms, torch.Generator())
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())
    losses(made, many, Draw(ANCHORS, POSITIVES[:, :0], NONE))["loss"].backward()
    assert all(parameter.grad is not None for parameter in made.parameters())
    counted = {int(value) for name, value in made.state_dict().items() if name.endswith("num_batches_tracked")}
    assert counted == {1}


def test_known_neighbours_are_no_negatives_on_demand(many: Assembler) -> None:
    """Of this draw: item 8 is a positive of anchors 3 and 1; with the hierarchy's edges, others too."""
    draw = Draw(ANCHORS, np.array([[8], [3], [7], [15]], np.int32), NONE)
    draw_of_two = Draw(ANCHORS, np.array([[8, 5], [3, 0], [5, 8], [15, 6]], np.int32), NONE)
    config = replace(PretrainConfig.from_strategy("hgc-fo"), contrast=Contrast(mask_neighbors=True))
    plain, known = objective(PretrainConfig.from_strategy("hgc-fo")), objective(config)
    joined = objective(config, EdgeSet(torch.tensor([[3, 7], [14, 8]])))
    assert losses(known, many, draw)["loss"] == losses(plain, many, draw)["loss"]
    assert losses(known, many, draw_of_two)["loss"] < losses(plain, many, draw_of_two)["loss"]
    assert losses(joined, many, draw)["loss"] < losses(plain, many, draw)["loss"]


@pytest.mark.parametrize("shared", [False, True])
def test_measures_are_of_the_contrasted_embeddings(many: Assembler, shared: bool) -> None:
    """Wang and Isola: mean squared distance of positive pairs; log mean Gaussian potential of anchors."""
    made = objective(PretrainConfig.from_strategy("hgc-ho" if shared else "hgc-fo"))
    draw = Draw(ANCHORS, POSITIVES, NEGATIVES if shared else NONE)
    found = made(Step.from_draw(draw, many), torch.Generator(), measure=True)
    z = unit(made.encoder.graphs(many.batch(draw.ids()))).detach()
    pairs = [(anchor, 4 * slot + 4 + anchor) for anchor in range(4) for slot in range(3)]
    expected = np.mean([float((z[one] - z[other]).square().sum()) for one, other in pairs])
    assert found["alignment"].item() == pytest.approx(expected)
    potentials = [np.exp(-2 * float((z[i] - z[j]).square().sum())) for i in range(4) for j in range(i)]
    assert found["uniformity"].item() == pytest.approx(np.log(np.mean(potentials)))
    assert not found["alignment"].requires_grad
    assert found["loss"] == found["hgc"] == losses(made, many, draw)["loss"]
    assert draw.graphs == len(draw.ids())


def test_twins_are_compared_as_one(many: Assembler) -> None:
    lowest = np.arange(16)
    lowest[8] = 1
    draw = Draw(ANCHORS[:2], POSITIVES[:2, :1], NONE)
    assert Step.from_draw(draw, many, lowest).kin.tolist() == [3, 1, 1, 3]
    assert Step.from_draw(draw, many).kin.tolist() == [3, 8, 8, 3]
