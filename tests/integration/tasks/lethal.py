"""A record that kills whoever parses it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from graphkin.store import open_lake

_LETHAL = """import os, signal
from graphkin.similarity.molecules.describer import MoleculeDescriber

describe = MoleculeDescriber.describe

def lethal(self, text, *more):
    if text == "N#N":
        os.kill(os.getpid(), signal.SIGSEGV)
    return describe(self, text, *more)

MoleculeDescriber.describe = lethal
"""


def assert_only_the_lethal_is_rejected(engine: Sequence[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python that an ingest starts dies of nitrogen."""
    (folder / "lethal").mkdir()
    (folder / "lethal" / "sitecustomize.py").write_text(_LETHAL)
    monkeypatch.setenv("PYTHONPATH", str(folder / "lethal"))
    (folder / "molecules.smi").write_text("CCO a\nCCN b\nN#N lethal\nCCC c\nwrong d\n")
    what = ["ingest", "molecules", "molecules.smi", *engine, "--lake", "lake"]
    command = [sys.executable, "-m", "graphkin", *what, "--collection", "c", "--max-rejected", "0.5"]
    subprocess.run(command, cwd=folder, check=True)
    with open_lake(str(folder / "lake")) as lake, lake.open("c") as made:
        assert [name for item in made.items(range(made.size)) for name in item["names"]] == ["a", "b", "c"]
        rejections = [row for batch in made.rejections() for row in batch.to_pylist()]
    assert [(row["line"], row["input"]) for row in rejections] == [(3, "N#N"), (5, "wrong")]
    assert rejections[0]["reason"] == "the parser process died on this record"
