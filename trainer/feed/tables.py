"""Conversion of Arrow tables from servers and epoch files to arrays. Columns are checked before they are read."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.policy import Policy
from graphkin.trainer.feed.source import Generation
from graphkin.trainer.feed.validation import (
    Refuse,
    require_negatives,
    require_pairs,
    require_positives,
    require_similarities,
)
from graphkin.trainer.strategy import Draws


def positives_of(
    table: pa.Table, generation: Generation, draws: Draws, epoch: int, anchors: int | None, refuse: Refuse
) -> NDArray[np.int32]:
    """Return the positives of all items in an epoch, (size, k), from a table of `GET positives/epochs/{epoch}`.

    Args:
        table: The rows; its metadata names the samples.
        generation: The generation that was requested.
        draws: The samples that were requested; they have a policy.
        epoch: The epoch that was requested.
        anchors: How many items have a neighbor; None if unknown.
        refuse: Makes the error for a table with other contents.
    """
    assert draws.policy is not None
    size, policy = generation.size, Policy.from_name(**asdict(draws.policy))
    _require_metadata(table, refuse, generation=generation.id, seed=draws.seed, epoch=epoch)
    if _policy(table) != policy.canonical():
        raise refuse(f"it is of policy {_metadata_value(table, 'policy')}, and {policy.canonical()} was requested")
    anchor_ids = _column(table, "anchor", pa.int32(), refuse)
    if not np.array_equal(anchor_ids, np.arange(size)):
        raise refuse(f"its anchors are not 0 to {size - 1}, each once and in order")
    positives = _lists(table, "positives", pa.int32(), policy.k, refuse)
    counts, isolated = _column(table, "count", pa.uint16(), refuse), _column(table, "isolated", pa.bool_(), refuse)
    _lists(table, "visits", pa.uint16(), policy.k, refuse)
    require_positives(positives, size, draws, refuse, anchors=anchors, is_sampled=True)
    lengths = (positives >= 0).sum(axis=1)
    if len(mismatches := np.flatnonzero((lengths != counts) | ((counts == 0) != isolated))):
        row = mismatches[0]
        raise refuse(
            f"anchor {row} has {lengths[row]} positives, a count of {counts[row]} and isolated = {bool(isolated[row])}"
        )
    return positives


def negatives_of(
    table: pa.Table, generation: Generation, draws: Draws, epoch: int, refuse: Refuse
) -> NDArray[np.int32]:
    """Return the shared negatives of all batches of an epoch, (batches, count), from a table of `GET negatives`."""
    size = generation.size
    _require_metadata(table, refuse, generation=generation.id, seed=draws.seed, epoch=epoch)
    ids = _lists(table, "ids", pa.int32(), draws.negatives, refuse)
    require_negatives(ids, size, draws.batches(size), draws.negatives, refuse)
    return ids


def pairs_of(table: pa.Table, size: int, lowest: float | None, refuse: Refuse) -> NDArray[np.int32]:
    """Return the columns source and target, (E, 2). With `lowest`, similarities must lie in [lowest, 1]."""
    ends = [_column(table, name, pa.int32(), refuse) for name in ("source", "target")]
    pairs: NDArray[np.int32] = np.stack(ends, axis=1)
    require_pairs(pairs, size, refuse)
    if lowest is not None:
        require_similarities(_column(table, "similarity", pa.float32(), refuse), lowest, refuse)
    return pairs


def _require_metadata(table: pa.Table, refuse: Refuse, **expected: str | int) -> None:
    for name, value in expected.items():
        if (actual := _metadata_value(table, name)) != str(value):
            raise refuse(f"it is of {name} {actual}, and {name} {value} was requested")


def _metadata_value(table: pa.Table, name: str) -> str | None:
    """Return a value of the schema's metadata; None if it is missing."""
    value = (table.schema.metadata or {}).get(name.encode())
    return None if value is None else value.decode(errors="replace")


def _policy(table: pa.Table) -> str | None:
    """Return the policy in the schema's metadata in canonical form; None if there is no valid one."""
    try:
        return Policy.model_validate(json.loads(_metadata_value(table, "policy") or "")).canonical()
    except ValueError:
        return None


def _column(table: pa.Table, name: str, type: pa.DataType, refuse: Refuse) -> NDArray[Any]:
    """Return a column of this type without nulls."""
    values = _find_column(table, name, refuse)
    if values.type != type:
        raise refuse(f"column {name!r} holds {values.type}, and not {type}")
    if values.null_count:
        raise refuse(f"column {name!r} has {values.null_count} nulls")
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return numbers


def _lists(table: pa.Table, name: str, type: pa.DataType, width: int, refuse: Refuse) -> NDArray[Any]:
    """Return a column of lists of this width and type without nulls, (rows, width)."""
    lists = _find_column(table, name, refuse)
    if not pa.types.is_fixed_size_list(lists.type) or (lists.type.value_type, lists.type.list_size) != (type, width):
        raise refuse(f"column {name!r} holds {lists.type}, and not lists of {width} {type}")
    values = lists.flatten()
    if lists.null_count or values.null_count:
        raise refuse(f"column {name!r} has nulls")
    numbers: NDArray[Any] = values.to_numpy()
    return numbers.reshape(len(lists), width)


def _find_column(table: pa.Table, name: str, refuse: Refuse) -> pa.Array:
    if name not in table.column_names:
        raise refuse(f"it has no column {name!r}; it has {', '.join(table.column_names) or 'none'}")
    return table[name].combine_chunks()
