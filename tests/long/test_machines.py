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
    verdicts = [line for line in outcome.stdout.splitlines() if line.endswith(("identical", "DIFFERENT"))]
    titles = [run.title for run in RUNS]
    titles.insert(titles.index("two machines") + 1, "epochs of two machines")
    assert verdicts == [f"{title}: identical" for title in titles]
    assert "\n2,000 items, " in outcome.stdout
