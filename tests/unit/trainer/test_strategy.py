import json
from dataclasses import asdict

import pytest

from graphkin.protocol import policy
from graphkin.trainer.strategy import ENCODERS, PRESETS, STRATEGIES, Policy, Sampling

FIRST = Policy("first_order", k=3)
WALK = Policy("random_walk", k=5, length=2, walks=5)
FAR = Policy("random_walk", k=5, length=4, walks=7)


@pytest.mark.parametrize(
    ("strategy", "encoder", "policy", "negatives"),
    [
        ("hgc-fo", "gin", FIRST, 0),
        ("hgc-fo", "gcn", FIRST, 0),
        ("hgc-ho", "gin", WALK, 255),
        ("hgc-ho", "gcn", FAR, 255),
        ("hgc-ho", "sage", FAR, 255),
        ("hgc-adam-fo", "sage", FIRST, 0),
        ("hgc-adam-ho", "gin", WALK, 255),
        ("hgc-adam-ho", "sage", WALK, 255),
        ("adam", "gin", None, 0),
        ("rdm", "gcn", None, 0),
        ("edge-pred", "gin", None, 0),
        ("infomax", "sage", None, 0),
        ("context-pred", "gcn", None, 0),
    ],
)
def test_draws_are_those_of_table_6(strategy, encoder, policy, negatives) -> None:
    assert Sampling.from_strategy(strategy, encoder=encoder, seed=4) == Sampling(policy, negatives, 256, 4)


@pytest.mark.parametrize(
    ("preset", "rank", "p_end", "pad"),
    [("default", "exp", 0.0, "resample"), ("paper", "top", 0.0, "resample"), ("rc", "exp", 0.2, "self")],
)
def test_presets_rank_end_and_pad_walks(preset, rank, p_end, pad) -> None:
    policy = Sampling.from_strategy("hgc-ho", preset=preset).policy
    assert policy is not None
    assert (policy.rank, policy.p_end, policy.pad) == (rank, p_end, pad)
    assert (policy.p, policy.q, policy.k) == (1, 1, 5)


def test_an_epoch_has_enough_batches_of_negatives_for_all_items() -> None:
    for size, batch_size, batches in ((512, 256, 2), (513, 256, 3), (1, 64, 1), (249_456, 256, 975)):
        assert Sampling.from_strategy("hgc-ho", batch_size=batch_size).batches(size) == batches
        assert Sampling.from_strategy("hgc-fo", batch_size=batch_size).batches(size) == 0


def test_draws_round_trip_through_json() -> None:
    for strategy in STRATEGIES:
        for preset in PRESETS:
            for encoder in ENCODERS:
                draws = Sampling.from_strategy(strategy, preset=preset, encoder=encoder, batch_size=64, seed=2**53 - 1)
                assert Sampling.from_json(json.loads(json.dumps(draws.as_json()))) == draws


@pytest.mark.parametrize("drawn", [Policy("first_order", k=3), Policy("random_walk", k=5)])
def test_policies_have_the_parameters_and_defaults_of_the_protocol(drawn: Policy) -> None:
    assert asdict(drawn) == policy.Policy.from_name(drawn.name).model_dump()
