"""A trainer between lies; `tests/rigs/lying_replies.py` has all of them."""

from pathlib import Path

import pytest

from tests.rigs.lying_replies import violations


def test_lies_are_refused_by_name(tmp_path: Path) -> None:
    """Ten of them; what is right is believed."""
    refused, wrong = violations(tmp_path, rounds=10, seed=1)
    assert not wrong
    assert refused.total() == 10


@pytest.mark.long
def test_every_lie_is_refused_by_name(tmp_path: Path) -> None:
    refused, wrong = violations(tmp_path)
    assert not wrong
    assert refused.total() >= 60
    assert min(refused[kind] for kind in ("reply", "offline folder", "folder of epochs")) >= 20
