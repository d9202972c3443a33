"""`import graphkin` is fast, and its names are documented for editors and type checkers."""

import inspect
import pydoc
import subprocess
import sys
from importlib.metadata import version

import pytest

import graphkin
from graphkin import library
from graphkin.ingest import pipeline


def test_import_loads_no_heavy_package() -> None:
    program = (
        "import sys, graphkin; heavy = {'numba', 'rdkit', 'torch', 'pyarrow', 'numpy', 'pydantic', 'httpx', 'fastapi'};"
        "version = graphkin.__version__;"
        "print(sorted(heavy & set(sys.modules)), sorted({*graphkin.__all__, '__version__'} - set(dir(graphkin))))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[] []\n"


def test_each_public_name_has_parameters_and_a_docstring() -> None:
    for name in graphkin.__all__:
        assert inspect.unwrap(getattr(graphkin, name)).__doc__, name
    assert {"data", "store", "collection", "threshold"} <= set(inspect.signature(graphkin.ingest).parameters)
    assert "threshold" in inspect.signature(graphkin.similar_pairs).parameters


def test_ingest_is_both_a_function_and_a_package() -> None:
    assert sys.modules["graphkin.ingest"] is graphkin.ingest  # type: ignore[comparison-overlap]
    assert sys.modules["graphkin.ingest.pipeline"] is pipeline


def test_help_of_ingest_shows_the_function() -> None:
    documentation = inspect.getdoc(library.ingest)
    assert documentation
    assert inspect.getdoc(graphkin.ingest) == documentation
    text = pydoc.plain(pydoc.render_doc(graphkin.ingest))
    for line in documentation.splitlines()[1:]:
        assert line.strip() in text


def test_classes_and_version_are_imported_from_the_package() -> None:
    from graphkin import Collection, Collections, Table

    assert (Collection, Collections, Table) == (library.Collection, library.Collections, library.Table)
    assert graphkin.__version__ == version("graphkin")
    with pytest.raises(AttributeError, match="'graphkin' has no attribute 'Tables'"):
        _ = graphkin.Tables
