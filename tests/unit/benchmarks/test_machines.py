"""The report of an ingest on two machines, and its refusal where there can be none."""

import sys

import pytest

from benchmarks.machines import __main__ as command
from benchmarks.machines.__main__ import Cost, report
from benchmarks.machines.store import count_requests

LOG = """ * Running on all addresses (0.0.0.0)
127.0.0.1 - - [28/Nov/2026 22:59:15] "PUT /bucket HTTP/1.1" 200 -
10.77.1.2 - - [28/Nov/2026 22:59:16] "GET /bucket/part-0.smi HTTP/1.1" 200 -
10.77.1.2 - - [28/Nov/2026 22:59:16] "\x1b[33mHEAD /bucket/lake/manifest.json HTTP/1.1\x1b[0m" 404 -
10.77.2.2 - - [28/Nov/2026 22:59:17] "PUT /bucket/lake/_work/0f/parse/000000.json HTTP/1.1" 200 -
"""


def test_requests_are_counted_by_client() -> None:
    assert count_requests(LOG) == {"127.0.0.1": 1, "10.77.1.2": 2, "10.77.2.2": 1}


def test_report_has_a_row_for_each_run_and_each_stage() -> None:
    alone = Cost(7.31, 0.5, [2_000_000, 0], [3_000_000, 0], 1_000, [1_200, 0])
    both = Cost(9.0, 0.75, [1_000_000, 1_100_000], [1_500_000, 1_600_000], 420_000, [700, 650])
    runs = [{"times": {"read": 1.25, "parse": 5.0}}, {"times": {"read": 2.0, "parse": 6.0}}]
    rows = report({"alone": alone, "both": both}, runs).splitlines()
    assert rows[2] == "| alone | 7.3 | 0.5 s | 2.0 / 3.0 | 0.0 / 0.0 | 0.0 | 1,200 + 0 |"
    assert rows[3] == "| both | 9.0 | 0.8 s | 1.0 / 1.5 | 1.1 / 1.6 | 0.4 | 700 + 650 |"
    assert rows[5:] == ["| stage | alone | both |", "|---|---|---|", "| read | 1.2 | 2.0 |", "| parse | 5.0 | 6.0 |"]


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["machines"])
    with pytest.raises(SystemExit) as outcome:
        command.main()
    message = capsys.readouterr().err
    assert (outcome.value.code, message) == (
        3,
        "not measured: this machine has no ip and no java and no mount and no nsenter and no unshare\n",
    )
