import json

import pytest
from pydantic import ValidationError

from graphkin.protocol.policy import Policy


@pytest.mark.parametrize(("name", "k"), [("first_order", 3), ("second_order", 3), ("random_walk", 5)])
def test_policies_have_defaults(name, k):
    policy = Policy.from_name(name, k=None, walks=None)
    assert policy == Policy.model_validate({"name": name})
    assert policy.model_dump() == {
        "name": name, "k": k, "length": 2, "walks": 5, "p": 1, "q": 1, "p_end": 0, "restart": 0, "rank": "exp",
        "pad": "resample",
    }  # fmt: skip


def test_explicit_parameters_win():
    parameters = {"k": 64, "length": 32, "walks": 256, "p": 0.5, "q": 2, "p_end": 0.2, "restart": 0.1}
    policy = Policy.from_name("random_walk", **parameters, rank="top", pad="self")
    assert json.loads(policy.canonical()) == policy.model_dump()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("k", 0), ("k", 65), ("k", 10**9), ("length", 0), ("length", 33), ("walks", 0), ("walks", 257),
        ("p", 0), ("p", -1), ("q", float("inf")), ("q", float("nan")), ("p_end", 1), ("p_end", -0.1),
        ("restart", 1), ("restart", -0.1),
        ("rank", "best"), ("pad", "none"), ("steps", 2),
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(parameter, value):
    with pytest.raises(ValidationError, match=parameter):
        Policy.from_name("random_walk", **{parameter: value})


def test_unknown_policy_is_refused():
    with pytest.raises(ValidationError, match="name"):
        Policy.from_name("third_order")


def test_canonical_form_holds_only_parameters_that_matter():
    plain = Policy.from_name("first_order")
    assert (
        Policy.from_name("first_order", walks=9, length=9, p=2, q=3, p_end=0.5, rank="top").canonical()
        == plain.canonical()
    )
    assert Policy.from_name("first_order", pad="self").canonical() != plain.canonical()
    assert Policy.from_name("second_order").canonical() != plain.canonical()
    walk = Policy.from_name("random_walk")
    assert Policy.from_name("random_walk", pad="self", p_end=-0.0, restart=-0.0, p=1).canonical() == walk.canonical()
    others = {"k": 4, "walks": 6, "length": 3, "p": 2, "q": 2, "p_end": 0.1, "restart": 0.1, "rank": "count"}
    for other in others.items():
        assert Policy.from_name("random_walk", **dict([other])).canonical() != walk.canonical()
    top = Policy.from_name("random_walk", rank="top")
    assert Policy.from_name("random_walk", rank="top", pad="self").canonical() != top.canonical()
