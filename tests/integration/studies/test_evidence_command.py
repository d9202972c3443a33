"""The command of the second evidence plan measures tier 1 with a few molecules, and continues."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


TWICE = """
import sys
from pathlib import Path

from studies.evidence.__main__ import evidence

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    arguments = ["--plan", "2", "--tiny", "--work", str(folder / "work"), "--cells", str(folder / "cells")]
    selection = ["--seeds", "1", "--sets", "chembl2147"]
    evidence([*arguments, *selection, "--arms", "permuted,scratch"], standalone_mode=False)
    (folder / REMOVED).rename(folder / "removed.json")
    evidence([*arguments, *selection, "--arms", "permuted"], standalone_mode=False)
"""
"""The program runs the command twice in one process, which imports torch once, and removes a cell in between."""

TUNED = "none/finetuned/2-epochs/lr-0.001-dropout-0.5/scratch-0/chembl2147-0.json"
PERMUTED = "cells/small/frozen/permuted-0/chembl2147.json"


def test_command_measures_tier_1_and_continues(tmp_path: Path) -> None:
    """The second run does only the cell that was removed, with the encoder that the first one trained."""
    program = TWICE.replace("REMOVED", repr(PERMUTED))
    result = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    files = {path.relative_to(tmp_path / "cells").as_posix() for path in (tmp_path / "cells").rglob("*.json")}
    units = {"none": ["scratch-0"], "small": ["permuted-0"]}
    assert {name for name in files if "finetuned" not in name} == {
        "small/encoders/exact-0.json",
        *(f"{dose}/frozen/{unit}/chembl2147.json" for dose, names in units.items() for unit in names),
    }
    settings = [f"lr-{rate}-dropout-{dropout}" for rate in ("0.0001", "0.0003", "0.001") for dropout in ("0", "0.5")]
    assert {name for name in files if "finetuned" in name} == {
        f"{dose}/finetuned/2-epochs/{setting}/{unit}/chembl2147-0.json"
        for dose, names in units.items()
        for unit in names
        for setting in settings
    }
    assert f"finished {tmp_path / PERMUTED}\n" in result.stdout.partition("tasks are done")[2]
    assert "failed" not in result.stdout
    cell, removed = (json.loads((tmp_path / name).read_text()) for name in (PERMUTED, "removed.json"))
    assert (cell["arm"], cell["seed"], cell["dose"], cell["set"]) == ("permuted", 0, "small", "chembl2147")
    assert {"command", "commit", "device", "versions", "seconds", "processor_seconds"} < cell.keys()
    tuned = json.loads((tmp_path / "cells" / TUNED).read_text())
    assert (tuned["learning_rate"], tuned["dropout"], tuned["split"], tuned["epochs"]) == (1e-3, 0.5, 0, 2)
    assert [len(tuned[name]) for name in ("loss", "valid", "test", "valid_by_task", "test_by_task")] == [2] * 5
    assert [len(score["by_task"]) for score in cell["probe"]] == [1, 1]
    assert cell["probe"] == removed["probe"]
