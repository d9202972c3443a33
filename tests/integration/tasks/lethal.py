"""A record that crashes the process that parses it."""

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
    """Check that only one record is rejected. Each Python process of the ingest crashes on nitrogen, which all four
    files have.
    """
    (folder / "lethal").mkdir()
    (folder / "lethal" / "sitecustomize.py").write_text(_LETHAL)
    monkeypatch.setenv("PYTHONPATH", str(folder / "lethal"))
    files = [f"{number}.smi" for number in range(4)]
    for number, file in enumerate(files):
        carbon = "C" * (1 + number)
        (folder / file).write_text(
            f"{carbon}O a{number}\n{carbon}N b{number}\nN#N lethal\nS{carbon} c{number}\nwrong d\n"
        )
    arguments = ["ingest", "molecules", *files, *engine, "--lake", "lake"]
    command = [sys.executable, "-m", "graphkin", *arguments, "--collection", "c", "--max-rejected", "0.5"]
    subprocess.run(command, cwd=folder, check=True)
    with open_lake(str(folder / "lake")) as lake, lake.open("c") as generation:
        names = [name for item in generation.items(range(generation.size)) for name in item["names"]]
        rejections = [row for batch in generation.rejections() for row in batch.to_pylist()]
    assert names == [f"{letter}{number}" for number in range(4) for letter in "abc"]
    assert [(row["line"], row["input"]) for row in rejections] == 4 * [(3, "N#N"), (5, "wrong")]
    assert {row["reason"] for row in rejections[::2]} == {"the parser process died on this record"}
