from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from graphkin.client.responses import release_series
from graphkin.client.retries import parse_retry_after


@pytest.mark.parametrize(
    ("header", "seconds"), [(None, None), ("0", 0), ("7", 7), ("soon", None), ("-3", None), ("", None)]
)
def test_retry_after_in_seconds(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header) == seconds


def test_retry_after_as_a_date() -> None:
    later = parse_retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True))
    assert later is not None
    assert 85 < later <= 90
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0


@pytest.mark.parametrize(
    ("release", "series"),
    [("0.1.0", "0.1"), ("0.12.3rc1", "0.12"), ("1.0.0", "1"), ("2.7", "2"), ("3", "3"), ("0.4", "0.4")],
)
def test_before_the_first_major_version_every_minor_one_may_break(release: str, series: str) -> None:
    assert release_series(release) == series
