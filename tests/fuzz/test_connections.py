"""Hostile connections, many at once: `tests.rigs.connections`."""

from pathlib import Path

import pytest

from tests.rigs.connections import SLOWEST, Deadlines, campaign, prepare

QUICK = Deadlines(head=0.5, body=0.5, idle=1.0, stalled=1.0)


def test_a_server_outlives_hostile_connections(tmp_path: Path) -> None:
    store, key = prepare(tmp_path)
    assert campaign(store, key, tmp_path, rounds=30, seed=0, workers=2, deadlines=QUICK).violations == []


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 2])
def test_others_notice_nothing_of_hostile_connections(tmp_path: Path, workers: int) -> None:
    store, key = prepare(tmp_path)
    outcome = campaign(store, key, tmp_path, rounds=200, seed=0, workers=workers, deadlines=Deadlines())
    assert outcome.violations == []
    assert outcome.p99 < SLOWEST
