"""Helpers that write small source files and read them back as rows."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from graphkin.ingest.readers import RECORD_SCHEMA, ReadOptions, open_source
from graphkin.similarity.graphs.kind import GraphKind
from graphkin.similarity.molecules.kind import MoleculeKind

Rows = list[dict[str, Any]]


def _rows(notations: Mapping[str, str], path: str, **options: Any) -> Rows:
    rows: Rows = []
    for batch in open_source(path, notations, ReadOptions(**options)):
        assert batch.schema == RECORD_SCHEMA
        batch.validate(full=True)
        rows += [{**row, "properties": dict(row["properties"])} for row in batch.to_pylist()]
    return rows


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], str]:
    """Return write(name, content), which writes a new file and returns its path."""

    def write(name: str, content: bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return write


@pytest.fixture
def rows() -> Callable[..., Rows]:
    """Return rows(path, **options), which reads each record as a dict."""
    return partial(_rows, MoleculeKind.file_formats)


@pytest.fixture
def read(write: Callable[[str, bytes], str], rows: Callable[..., Rows]) -> Callable[..., Rows]:
    """Return read(name, content, **options), which writes a new file and reads its records."""
    return lambda name, content, **options: rows(write(name, content), **options)


@pytest.fixture
def graph_rows() -> Callable[..., Rows]:
    """Return graph_rows(path, **options), which reads each graph as a dict."""
    return partial(_rows, GraphKind.file_formats)


@pytest.fixture
def read_graphs(write: Callable[[str, bytes], str], graph_rows: Callable[..., Rows]) -> Callable[..., Rows]:
    """Return read_graphs(name, content, **options), which writes a new file and reads its graphs."""
    return lambda name, content, **options: graph_rows(write(name, content), **options)
