"""Benchmarks run for minutes to hours, outside of CI; that they still know the code they measure shows here."""

from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("*.py")))
def test_every_benchmark_can_be_imported(name: str) -> None:
    assert import_module(f"benchmarks.{name}".removesuffix(".__init__")).__file__
