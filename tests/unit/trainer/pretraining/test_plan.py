"""Which anchors come when."""

import numpy as np
import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.strategy import PRESETS, Preset

NONE = np.empty((0, 0), np.int32)


def epoch(size: int, isolated: tuple[int, ...] = ()) -> Epoch:
    positives = np.stack([(np.arange(size) + shift) % size for shift in (1, 2, 3)], axis=1).astype(np.int32)
    positives[list(isolated)] = -1
    return Epoch(positives, NONE)


@pytest.mark.parametrize(("anchors", "steps"), [(2, 1), (7, 2), (8, 2), (9, 2), (10, 3), (13, 3), (14, 4)])
def test_every_anchor_comes_once_but_never_alone(anchors: int, steps: int) -> None:
    plan = Plan(
        PretrainConfig.from_strategy("hgc-fo", batch_size=4), 0, epoch(anchors + 2, isolated=(0, 5 % anchors + 1))
    )
    draws = [plan.draw(place) for place in range(plan.steps)]
    assert plan.steps == steps
    came = np.concatenate([draw.anchors for draw in draws])
    assert len(set(came.tolist())) == len(came) == anchors - (anchors % 4 == 1)
    assert {0, 5 % anchors + 1}.isdisjoint(came.tolist())
    assert min(len(draw.anchors) for draw in draws) >= 2


def test_the_number_of_steps_is_the_published_one() -> None:
    assert Plan(PretrainConfig.from_strategy("adam"), 0, Epoch(np.empty((2_000_000, 0), np.int32), NONE)).steps == 7_813


def test_positives_and_negatives_belong_to_anchor_and_batch() -> None:
    drawn = epoch(20)._replace(negatives=np.arange(5 * 6, dtype=np.int32).reshape(5, 6) % 20)
    plan = Plan(PretrainConfig.from_strategy("hgc-ho", batch_size=4), 3, drawn)
    draw = plan.draw(2)
    assert draw.positives.tolist() == [[(i + 1) % 20, (i + 2) % 20, (i + 3) % 20] for i in draw.anchors]
    assert draw.negatives.tolist() == drawn.negatives[2].tolist()
    first, second, third = (np.array(draw.positives)[:, slot] for slot in range(3))
    expected = [*draw.anchors, *first, *second, *third, *draw.negatives]
    assert draw.ids().tolist() == [int(id) for id in expected]


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    def order(number: int, seed: int = 0) -> list[int]:
        config = PretrainConfig.from_strategy("hgc-fo", batch_size=4, seed=seed)
        return [int(anchor) for anchor in Plan(config, number, epoch(40)).draw(0).anchors]

    assert order(1) == order(1)
    assert len({tuple(order(number, seed)) for number in range(3) for seed in range(3)}) == 9


def test_collection_of_isolated_items_is_refused() -> None:
    with pytest.raises(InvalidInput, match="too few items with a neighbor"):
        Plan(PretrainConfig.from_strategy("hgc-fo"), 0, epoch(9, isolated=tuple(range(1, 9))))


@pytest.mark.parametrize("preset", PRESETS)
def test_limited_epoch_is_the_first_part_of_a_whole_one(preset: Preset) -> None:
    def anchors(limit: int | None) -> list[int]:
        plan = Plan(
            PretrainConfig.from_strategy("hgc-fo", preset, batch_size=4, limit=limit), 2, epoch(40, isolated=(0, 7))
        )
        return np.concatenate([plan.draw(place).anchors for place in range(plan.steps)]).tolist()

    assert anchors(11) == anchors(None)[:11]
    assert anchors(13) == anchors(None)[:12]  # the thirteenth would be alone
    assert anchors(38) == anchors(1000) == anchors(None)


@pytest.mark.parametrize(("anchors", "steps"), [(4, 1), (6, 1), (7, 2), (8, 2)])
def test_with_several_processes_each_has_an_anchor_in_every_step(anchors: int, steps: int) -> None:
    assert Plan(PretrainConfig.from_strategy("hgc-fo", batch_size=4), 0, epoch(anchors), min_anchors=3).steps == steps


def test_batches_and_collections_too_small_for_the_processes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="batch size 4"):
        Plan(PretrainConfig.from_strategy("hgc-fo", batch_size=4), 0, epoch(40), min_anchors=5)
    with pytest.raises(InvalidInput, match="3 or more items with a neighbor"):
        Plan(PretrainConfig.from_strategy("hgc-fo", batch_size=4), 0, epoch(2), min_anchors=3)
