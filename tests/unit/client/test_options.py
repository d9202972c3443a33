from graphkin.client.options import PolicyOptions
from graphkin.protocol.policy import Policy


def test_policy_options_match_the_fields_of_a_policy() -> None:
    assert {"name", *PolicyOptions.__annotations__} == set(Policy.model_fields)
