"""Benchmarks, studies and rigs can be imported. They run for minutes to hours, outside of CI."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [file for folder in ("benchmarks", "studies", "tests/rigs") for file in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize("name", sorted(".".join(file.relative_to(ROOT).with_suffix("").parts) for file in FILES))
def test_module_can_be_imported(name: str) -> None:
    assert import_module(name.removesuffix(".__init__")).__file__
