"""Chunks of records."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from graphkin.ingest.parsing import Chunk
from graphkin.ingest.readers import RECORD_SCHEMA


@pytest.fixture
def chunk() -> Callable[..., Chunk]:
    """chunk(texts, names=None, properties=None, faults=None): records of one source, lines from 1."""

    def chunk(
        texts: Sequence[str],
        names: Sequence[str | None] | None = None,
        properties: Sequence[dict[str, str]] | None = None,
        faults: Sequence[str | None] | None = None,
        writing: Any = "smiles",
    ) -> Chunk:
        nothing = [None] * len(texts)
        pairs = [list(own.items()) for own in properties or [{} for _ in texts]]
        columns = [range(1, len(texts) + 1), texts, names or nothing, pairs, faults or nothing]
        arrays = [pa.array(list(column), field.type) for column, field in zip(columns, RECORD_SCHEMA, strict=True)]
        return Chunk("made-up.smi", writing, pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA))

    return chunk
