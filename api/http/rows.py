"""Rows as Arrow streams or JSON Lines."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pydantic_core import to_json

from graphkin.api.http.reply import ARROW
from graphkin.export import columnar
from graphkin.store.sampling.rows import schema_metadata

_MAX_VALUES = 65_536  # maximum number of values in one piece of JSON Lines


def encode_rows(
    media_type: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], provenance: dict[str, Any]
) -> Iterator[bytes]:
    """Yield the bytes of batches in a media type.

    Args:
        media_type: Arrow stream, or JSON Lines with one object per row.
        schema: Schema of the batches.
        batches: Rows.
        provenance: Origin of the rows. An Arrow stream has it in its schema metadata. JSON Lines omit it.
    """
    if media_type == ARROW:
        return columnar.arrow(schema.with_metadata(schema_metadata(provenance)), batches)
    return (_json_lines(part) for batch in batches for part in _split(batch))


def _split(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch into small parts, because the encoding of a part blocks all other threads (GIL)."""
    rows = max(1, _MAX_VALUES * batch.num_rows // (batch.nbytes // 4 + 1))
    return (batch.slice(begin, rows) for begin in range(0, batch.num_rows, rows))


def _json_lines(batch: pa.RecordBatch) -> bytes:
    rows = zip(*(_to_list(column) for column in batch.columns), strict=True)
    return b"".join(to_json(dict(zip(batch.schema.names, row, strict=True))) + b"\n" for row in rows)


def _to_list(column: pa.Array) -> list[Any]:
    """Return the values of a column. `to_pylist` takes ten times as long for fixed-size lists."""
    if not pa.types.is_fixed_size_list(column.type):
        return list(column.to_pylist())
    return list(column.flatten().to_numpy().reshape(len(column), column.type.list_size).tolist())
