"""Files of molecules to train on."""

from itertools import product
from pathlib import Path

from benchmarks.molecules import generate
from studies.gpu.setting import MOLECULES, Setting

_FORMS = ("", ".Cl", ".Br")


def tiny_molecules() -> list[str]:
    """Return the molecules of a tiny run: generated ones and two salts of each, which are similar at any threshold."""
    return [f"{smiles}{salt}" for smiles, salt in product(generate(MOLECULES // len(_FORMS)), _FORMS)]


def molecules_file(setting: Setting, name: str) -> Path:
    """Return a SMILES file of the payload or, for a tiny run, one with `tiny_molecules`."""
    path = setting.data / name
    if setting.tiny and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{smiles}\n" for smiles in tiny_molecules()))
    return path
