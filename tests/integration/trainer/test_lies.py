"""A trainer that receives false data; `tests/rigs/lying_replies.py` defines all kinds."""

from pathlib import Path

import pytest

from tests.rigs.lying_replies import violations


def test_false_data_are_refused_by_name(tmp_path: Path) -> None:
    """Ten false replies are refused, and correct ones are accepted."""
    refused, wrong = violations(tmp_path, rounds=10, seed=1)
    assert not wrong
    assert refused.total() == 10


@pytest.mark.long
def test_every_kind_of_false_data_is_refused_by_name(tmp_path: Path) -> None:
    refused, wrong = violations(tmp_path)
    assert not wrong
    assert refused.total() >= 60
    assert min(refused[kind] for kind in ("reply", "offline folder", "folder of epochs")) >= 20
