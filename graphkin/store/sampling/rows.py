"""Samples as Arrow tables: one row per anchor, or one row per batch of negatives."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.policy import Policy
from graphkin.store.records import Int32
from graphkin.store.sampling.base import PositiveSets

_BLOCK = 65_536  # anchors in one record batch of a stream


def positives_schema(k: int) -> pa.Schema:
    """Return the schema of positives: one row per anchor. Isolated anchors have -1 in `positives` and 0 in `visits`."""
    return _schema(
        anchor=pa.int32(),
        count=pa.uint16(),
        isolated=pa.bool_(),
        positives=pa.list_(pa.int32(), k),
        visits=pa.list_(pa.uint16(), k),
    )


def positives_rows(sets: PositiveSets) -> pa.RecordBatch:
    """Return positive sets as a batch of `positives_schema`. Only `isolated` is copied."""
    columns = [pa.array(sets.anchors), pa.array(sets.counts), pa.array(sets.isolated)]
    columns += [_lists(sets.positives), _lists(sets.visits)]
    return pa.RecordBatch.from_arrays(columns, schema=positives_schema(sets.positives.shape[1]))


def positives_blocks(sets: PositiveSets, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    """Iterate over the positive sets of the anchors `start` to `stop` - 1 in batches."""
    for begin in range(start, stop, _BLOCK):
        rows = slice(begin, min(begin + _BLOCK, stop))
        yield positives_rows(
            PositiveSets(
                sets.anchors[rows], sets.counts[rows], sets.isolated[rows], sets.positives[rows], sets.visits[rows]
            )
        )


def positives_provenance(generation: str, policy: Policy, seed: int, epoch: int) -> dict[str, Any]:
    """Return the settings that determine the positive sets."""
    return {"generation": generation, "policy": policy.model_dump(), "seed": seed, "epoch": epoch}


def negatives_schema(count: int) -> pa.Schema:
    """Return the schema of negatives: one row per batch."""
    return _schema(batch=pa.int32(), ids=pa.list_(pa.int32(), count))


def negatives_rows(first: int, ids: Int32) -> pa.RecordBatch:
    """Return the negatives of batches `first`, `first` + 1, ..., (batches, count), as rows of `negatives_schema`."""
    batches = np.arange(first, first + len(ids), dtype=np.int32)
    return pa.RecordBatch.from_arrays([pa.array(batches), _lists(ids)], schema=negatives_schema(ids.shape[1]))


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, type, nullable=False) for name, type in columns.items()])


def _lists(values: NDArray[Any]) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def schema_metadata(provenance: dict[str, Any]) -> dict[str, str]:
    """Return the provenance as metadata of an Arrow schema. Values other than strings become JSON."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in provenance.items()}
