"""Flipped and truncated files of generations and of the catalog. tests/long damages 200 files, so that each one is."""

import subprocess
import sys
from pathlib import Path


def test_damaged_data_is_never_served(tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("damage.py"))
    campaign = [sys.executable, script, str(tmp_path), "--trials", "4", "--seed", "1"]
    process = subprocess.run(campaign, capture_output=True, text=True)
    lines = process.stdout.splitlines()
    assert [line for line in lines if '"right": true' not in line] == []
    assert (process.returncode, len(lines)) == (0, 4), process.stderr
