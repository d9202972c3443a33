"""200 bit flips and truncations over all files of a store; none of them may affect a response (issue 17)."""

import json
import subprocess
import sys
from pathlib import Path

CAMPAIGN = Path(__file__).parents[1] / "faults" / "damage.py"


def test_no_response_comes_from_damaged_files(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, CAMPAIGN, tmp_path, "--trials", "200"], capture_output=True, text=True)
    trials = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [trial for trial in trials if not trial["right"]] == []
    assert (ended.returncode, len(trials)) == (0, 200), ended.stderr
    assert len({(trial["of"], trial["file"]) for trial in trials}) == 30
