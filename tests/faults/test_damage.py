"""Files of generations, and the catalogue, flipped or cut; tests/long does it 200 times, so each of them is."""

import subprocess
import sys
from pathlib import Path


def test_nothing_is_answered_from_damage(tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("damage.py"))
    campaign = [sys.executable, script, str(tmp_path), "--trials", "4", "--seed", "1"]
    ended = subprocess.run(campaign, capture_output=True, text=True)
    lines = ended.stdout.splitlines()
    assert [line for line in lines if '"right": true' not in line] == []
    assert (ended.returncode, len(lines)) == (0, 4), ended.stderr
