"""`import graphkin` is fast, and its names are documented for editors and type checkers."""

import inspect
import subprocess
import sys

import graphkin
from graphkin.ingest import pipeline


def test_import_loads_no_heavy_package() -> None:
    program = (
        "import sys, graphkin; heavy = {'numba', 'rdkit', 'torch', 'pyarrow', 'numpy', 'pydantic', 'httpx', 'fastapi'};"
        "print(sorted(heavy & set(sys.modules)), sorted(set(graphkin.__all__) - set(dir(graphkin))))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[] []\n"


def test_each_public_name_has_parameters_and_a_docstring() -> None:
    for name in graphkin.__all__:
        assert inspect.unwrap(getattr(graphkin, name)).__doc__, name
    assert {"files", "store", "collection", "threshold"} <= set(inspect.signature(graphkin.ingest).parameters)
    assert "threshold" in inspect.signature(graphkin.similar_pairs).parameters


def test_ingest_is_both_a_function_and_a_package() -> None:
    assert sys.modules["graphkin.ingest"] is graphkin.ingest  # type: ignore[comparison-overlap]
    assert sys.modules["graphkin.ingest.pipeline"] is pipeline
