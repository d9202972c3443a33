"""An ingest on two machines that share only an object store, one of which is lost on the way."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.machines.__main__ import RUNS, UNAVAILABLE
from benchmarks.machines.machine import TOOLS

ROOT = Path(__file__).parents[2]


def test_lakes_of_two_machines_equal_that_of_one(require_tools: Callable[..., None]) -> None:
    """Machines are Linux namespaces, which need root."""
    require_tools(*TOOLS)
    command = [sys.executable, "-m", "benchmarks.machines", "--molecules", "2000", "--files", "4", "--threshold", "0.4"]
    outcome = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    if outcome.returncode == UNAVAILABLE:
        pytest.skip(f"NOT TESTED: {outcome.stderr}")
    assert outcome.returncode == 0, outcome.stderr
    lines = outcome.stdout.splitlines()
    assert [line.rpartition(",")[0] for line in lines[: len(RUNS)]] == [f"{run.title}: identical" for run in RUNS]
    assert "2,000 items, " in lines[len(RUNS) + 1]
