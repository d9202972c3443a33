"""Files of molecules to train on."""

from pathlib import Path

from benchmarks.molecules import generate
from studies.gpu.setting import MOLECULES, Setting


def molecules_file(setting: Setting, name: str) -> Path:
    """Return a SMILES file of the payload or, for a tiny run, one with a few hundred generated molecules."""
    path = setting.data / name
    if setting.tiny and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{smiles}\n" for smiles in generate(MOLECULES)))
    return path
