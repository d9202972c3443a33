"""A script that ingests without a `__main__` guard is told so: its workers would run the script again."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

with open_store("store", create=True) as store:
    ingest(store, "c", ["a.smi"], resolve())
"""


def test_a_script_without_a_guard_ends_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "a.smi").write_text("CCO\nCCN\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode != 0
    assert "__main__" in ended.stderr.splitlines()[-1]
