"""Columnar rows, of positives and of negatives, as Arrow streams or JSON Lines."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic_core import to_json

from graphkin.api.gate.reply import ARROW
from graphkin.export import columnar
from graphkin.protocol.policy import Policy
from graphkin.store.records import Int32
from graphkin.store.sampling.base import PositiveSets

_BLOCK = 65_536  # anchors in one batch of a stream
_VALUES = 65_536  # numbers in one piece of JSON Lines


def positives_schema(k: int) -> pa.Schema:
    """One row an anchor; -1 fills up `positives`, 0 `visits`."""
    return _schema(
        anchor=pa.int32(),
        count=pa.uint16(),
        isolated=pa.bool_(),
        positives=pa.list_(pa.int32(), k),
        visits=pa.list_(pa.uint16(), k),
    )


def positives_rows(sets: PositiveSets) -> pa.RecordBatch:
    """The sets as `positives_schema`; only `isolated` is copied."""
    columns = [pa.array(sets.anchors), pa.array(sets.counts), pa.array(sets.isolated)]
    columns += [_lists(sets.positives), _lists(sets.visits)]
    return pa.RecordBatch.from_arrays(columns, schema=positives_schema(sets.positives.shape[1]))


def positives_blocks(sets: PositiveSets, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    """Anchors `start` to `stop` - 1, a block at a time."""
    for begin in range(start, stop, _BLOCK):
        rows = slice(begin, min(begin + _BLOCK, stop))
        yield positives_rows(
            PositiveSets(
                sets.anchors[rows], sets.counts[rows], sets.isolated[rows], sets.positives[rows], sets.visits[rows]
            )
        )


def positives_provenance(generation: str, policy: Policy, seed: int, epoch: int) -> dict[str, Any]:
    """What the sets follow from, for `write`."""
    return {"generation": generation, "policy": policy.model_dump(), "seed": seed, "epoch": epoch}


def negatives_schema(count: int) -> pa.Schema:
    """One row a batch."""
    return _schema(batch=pa.int32(), ids=pa.list_(pa.int32(), count))


def negatives_rows(first: int, ids: Int32) -> pa.RecordBatch:
    """ids (batches, count), of batches `first`, `first` + 1, ... as `negatives_schema`."""
    batches = np.arange(first, first + len(ids), dtype=np.int32)
    return pa.RecordBatch.from_arrays([pa.array(batches), _lists(ids)], schema=negatives_schema(ids.shape[1]))


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, type, nullable=False) for name, type in columns.items()])


def _lists(values: NDArray[Any]) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def write(
    media_type: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], provenance: dict[str, Any]
) -> Iterator[bytes]:
    """The batches in the media type asked for.

    Arrow carries `provenance` in its schema's metadata, what is no text as JSON. JSON Lines has one object a row.
    """
    if media_type == ARROW:
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in provenance.items()}
        return columnar.arrow(schema.with_metadata(texts), batches)
    return (_json_lines(part) for batch in batches for part in _parts(batch))


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """What is written at once: the interpreter can do nothing else meanwhile."""
    rows = max(1, _VALUES * batch.num_rows // (batch.nbytes // 4 + 1))
    return (batch.slice(begin, rows) for begin in range(0, batch.num_rows, rows))


def _json_lines(batch: pa.RecordBatch) -> bytes:
    rows = zip(*(_values(column) for column in batch.columns), strict=True)
    return b"".join(to_json(dict(zip(batch.schema.names, row, strict=True))) + b"\n" for row in rows)


def _values(column: pa.Array) -> list[Any]:
    """As `to_pylist`, which takes ten times as long for fixed-size lists."""
    if not pa.types.is_fixed_size_list(column.type):
        return list(column.to_pylist())
    return list(column.flatten().to_numpy().reshape(len(column), column.type.list_size).tolist())
