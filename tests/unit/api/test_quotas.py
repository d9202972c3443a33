"""Quotas beside a count by hand, on a clock of the test's own."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from graphkin.api.http.access import Caller
from graphkin.api.http.quotas import QUOTA_HEADERS, Quotas
from graphkin.protocol.errors import TooManyRequests
from graphkin.protocol.keys import Quota, create_key
from tests.modes import open_to_others

BEGIN = 60 * 30_000_000.0  # a full minute


class Clock:
    seconds = BEGIN

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def two(tmp_path: Path, clock: Clock) -> Iterator[tuple[Quotas, Quotas]]:
    """Those of two servers of one machine."""
    with closing(Quotas(tmp_path / "q", clock)) as one, closing(Quotas(tmp_path / "q", clock)) as other:
        yield one, other


def key(**quota: int) -> Caller:
    return Caller(create_key("a", ["read"], quota=Quota(**quota))[1])


def asked(quotas: Quotas, key: Caller, heavy: bool = False) -> dict[bytes, bytes]:
    scope: dict[str, Any] = {}
    with quotas.admit(scope, key, heavy=heavy):
        return dict(scope.get(QUOTA_HEADERS, ()))


def refused(quotas: Quotas, key: Caller) -> float | None:
    with pytest.raises(TooManyRequests) as error:
        asked(quotas, key)
    return error.value.retry_after


def test_requests_of_a_minute_are_counted_by_all_servers_together(two: tuple[Quotas, Quotas], clock: Clock) -> None:
    mine, others = key(requests=5), key(requests=5)
    for number in range(5):
        clock.seconds = BEGIN + number
        told = asked(two[number % 2], mine)
        assert told == {
            b"ratelimit-policy": b'"requests";q=5;w=60',
            b"ratelimit": b'"requests";r=%d;t=%d' % (4 - number, 60 - number),
        }
    clock.seconds = BEGIN + 59.5
    for _ in range(100):  # who goes on asking waits no longer for it
        assert [refused(each, mine) for each in two] == [0.5, 0.5]
    asked(two[0], others)
    clock.seconds = BEGIN + 60
    assert asked(two[0], mine)[b"ratelimit"] == b'"requests";r=4;t=60'


def test_large_reply_takes_the_rows_of_the_next_minutes(two: tuple[Quotas, Quotas], clock: Clock) -> None:
    mine = key(rows=100)
    assert asked(two[0], mine)[b"ratelimit"] == b'"rows";r=100;t=60'
    two[0].spend(mine, 99)
    asked(two[1], mine)
    two[1].spend(mine, 251)
    assert refused(two[0], mine) == 60 * 3  # of 350 three minutes make up for 300
    clock.seconds = BEGIN + 2 * 60 + 59
    assert refused(two[0], mine) == 1
    clock.seconds += 1
    assert asked(two[0], mine)[b"ratelimit"] == b'"rows";r=50;t=60'
    clock.seconds = BEGIN + 3600
    assert asked(two[0], mine)[b"ratelimit"] == b'"rows";r=100;t=60'
    two[0].spend(mine, 150)
    clock.seconds = BEGIN - 3600  # set back by hand: nobody waits an hour for that
    assert refused(two[1], mine) == 60
    clock.seconds += 60
    assert asked(two[0], mine)[b"ratelimit"] == b'"rows";r=50;t=60'


def test_heavy_work_at_once_is_bounded_over_all_servers(two: tuple[Quotas, Quotas]) -> None:
    mine, others = key(heavy=2), key(heavy=1)
    with ExitStack() as stack:
        for each in two:
            stack.enter_context(each.admit({}, mine, heavy=True))
        for each in two:
            with pytest.raises(TooManyRequests, match="too many demanding requests"):
                asked(each, mine, heavy=True)
            assert asked(each, mine) == {}
        asked(two[0], others, heavy=True)
    asked(two[1], mine, heavy=True)


def test_users_of_a_key_are_counted_apart(two: tuple[Quotas, Quotas], clock: Clock) -> None:
    shared = key(requests=2, rows=100, heavy=1).key
    ann, bob = Caller(shared, "ann"), Caller(shared, "bob")
    for each in two:
        asked(each, ann)
    assert [refused(each, ann) for each in two] == [60, 60]
    assert asked(two[0], bob)[b"ratelimit"].startswith(b'"requests";r=1;t=60, "rows";r=100;')
    two[0].spend(bob, 250)
    assert refused(two[1], bob) == 120
    clock.seconds = BEGIN + 60
    assert asked(two[1], ann)[b"ratelimit"] == b'"requests";r=1;t=60, "rows";r=100;t=60'
    assert refused(two[0], bob) == 60
    clock.seconds = BEGIN + 180
    with two[0].admit({}, ann, heavy=True):
        asked(two[1], bob, heavy=True)
        with pytest.raises(TooManyRequests, match="too many demanding requests"):
            asked(two[1], ann, heavy=True)
    clock.seconds = BEGIN + 240
    asked(two[1], ann, heavy=True)


def test_users_who_have_gone_are_forgotten(two: tuple[Quotas, Quotas], clock: Clock, tmp_path: Path) -> None:
    shared = key(requests=10, rows=100, heavy=1).key

    def known() -> int:
        with closing(sqlite3.connect(tmp_path / "q" / "used.sqlite")) as database:
            return int(database.execute("SELECT count(DISTINCT who) FROM spent").fetchone()[0])

    for number in range(50):
        asked(two[number % 2], Caller(shared, f"user {number}"), heavy=True)
    two[0].spend(Caller(shared, "user 7"), 250)
    assert known() == 50
    clock.seconds = BEGIN + 60
    asked(two[0], Caller(shared, "another"))
    assert known() == 2  # who has something to make up for, and who has just asked
    clock.seconds = BEGIN + 3 * 60
    asked(two[1], Caller(shared, "a third"))
    assert known() == 1
    assert {path.name.split(".")[0] for path in (tmp_path / "q").iterdir()} == {"used"}


def test_key_without_quotas_writes_nothing(two: tuple[Quotas, Quotas], tmp_path: Path) -> None:
    assert asked(two[0], key(), heavy=True) == {}
    two[0].spend(key(), 10**9)
    two[0].spend(None, 10**9)
    assert not (tmp_path / "q").exists()


def test_count_is_for_its_owner_alone(two: tuple[Quotas, Quotas], tmp_path: Path) -> None:
    asked(two[0], key(requests=1, heavy=1), heavy=True)
    assert open_to_others(tmp_path / "q") == []


def test_damaged_count_begins_anew(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "used.sqlite").write_bytes(b"no database" * 1000)
    with closing(Quotas(tmp_path, clock)) as quotas:
        assert asked(quotas, key(requests=1))[b"ratelimit"] == b'"requests";r=0;t=60'
