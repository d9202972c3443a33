"""`import graphkin` is quick, and what it offers is seen by editors and checkers."""

import inspect
import subprocess
import sys

import graphkin
from graphkin.ingest import pipeline


def test_importing_it_brings_nothing_heavy() -> None:
    program = (
        "import sys, graphkin; heavy = {'numba', 'rdkit', 'torch', 'pyarrow', 'numpy', 'pydantic', 'httpx', 'fastapi'};"
        "print(sorted(heavy & set(sys.modules)), sorted(set(graphkin.__all__) - set(dir(graphkin))))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[] []\n"


def test_every_name_has_its_parameters_and_its_words() -> None:
    for name in graphkin.__all__:
        assert inspect.unwrap(getattr(graphkin, name)).__doc__, name
    assert {"files", "store", "collection", "threshold"} <= set(inspect.signature(graphkin.ingest).parameters)
    assert "threshold" in inspect.signature(graphkin.similar_pairs).parameters


def test_the_room_of_the_same_name_stays_one() -> None:
    assert sys.modules["graphkin.ingest"] is graphkin.ingest  # type: ignore[comparison-overlap]
    assert sys.modules["graphkin.ingest.pipeline"] is pipeline
