"""Campaigns of full size; tests of the CI run the same functions with few rounds."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "campaign",
    [("key_bits", "--flips", "10000"), ("lake_writers", "--rounds", "50"), ("numba_cache", "--rounds", "200")],
)
def test_campaign_has_no_violation(campaign: tuple[str, ...]) -> None:
    name, *size = campaign
    done = subprocess.run([sys.executable, "-m", f"tests.rigs.{name}", *size], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
