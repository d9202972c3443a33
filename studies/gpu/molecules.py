"""Files of molecules that jobs learn from."""

from pathlib import Path

from benchmarks.molecules import generate
from studies.gpu.setting import MOLECULES, Setting


def molecules_file(setting: Setting, name: str) -> Path:
    """Return a file of SMILES: of the payload, or of a few hundred generated molecules for a tiny run."""
    path = setting.data / name
    if setting.tiny and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{smiles}\n" for smiles in generate(MOLECULES)))
    return path
