"""The port of a generation's Arrow tables, and functions that check tables and convert them to arrays."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.manifest import Manifest
from graphkin.protocol.policy import Policy
from graphkin.protocol.values import PolicyName
from graphkin.trainer.feed.source import Generation
from graphkin.trainer.feed.validation import (
    ErrorFactory,
    require_negatives,
    require_pairs,
    require_positives,
    require_similarities,
)
from graphkin.trainer.strategy import Sampling

if TYPE_CHECKING:
    from graphkin.client.options import PolicyOptions


class Collection(Protocol):
    """A collection to featurize, from a server (`client.Collection`) or from a store."""

    name: str

    @property
    def kind(self) -> str: ...

    @property
    def generation(self) -> str:
        """Id of the generation."""

    def column(self, name: str) -> Iterable[Sequence[str]]:
        """Yield one column of all items in id order, in blocks."""


class Tables(Collection, Protocol):
    """Arrow tables of one generation: `client.Collection` of a server, or `library.training.StoredTables` of a store.

    `client.Collection` documents the methods and the columns.
    """

    @property
    def size(self) -> int:
        """Number of items."""

    @property
    def manifest(self) -> Manifest: ...

    def epoch(
        self, epoch: int, policy: PolicyName, *, seed: int = 0, **parameters: Unpack["PolicyOptions"]
    ) -> pa.Table: ...

    def negatives(self, epoch: int, *, seed: int = 0, batches: int = 1, count: int = 255) -> pa.Table: ...

    def edges(self, *, min_similarity: float | None = None) -> pa.Table: ...

    def links(self) -> pa.Table: ...


def read_positives(
    table: pa.Table, generation: Generation, draws: Sampling, epoch: int, anchors: int | None, make_error: ErrorFactory
) -> NDArray[np.int32]:
    """Return the positives of all items in an epoch, (size, k), from a table of `GET positives/epochs/{epoch}`.

    Args:
        table: The table. Its metadata has the generation, the policy, the seed and the epoch.
        generation: Requested generation.
        draws: Requested sampling settings, with a policy.
        epoch: Requested epoch.
        anchors: Number of items with a neighbor; None if unknown.
        make_error: Makes the error for a table with other contents.
    """
    assert draws.policy is not None
    size, policy = generation.size, Policy.from_name(**asdict(draws.policy))
    _require_metadata(table, make_error, generation=generation.id, seed=draws.seed, epoch=epoch)
    if _policy(table) != policy.canonical():
        raise make_error(f"it is of policy {_metadata_value(table, 'policy')}, and {policy.canonical()} was requested")
    anchor_ids = _column(table, "anchor", pa.int32(), make_error)
    if not np.array_equal(anchor_ids, np.arange(size)):
        raise make_error(f"its anchors are not 0 to {size - 1}, each once and in order")
    positives = _lists(table, "positives", pa.int32(), policy.k, make_error)
    counts, isolated = (
        _column(table, "count", pa.uint16(), make_error),
        _column(table, "isolated", pa.bool_(), make_error),
    )
    _lists(table, "visits", pa.uint16(), policy.k, make_error)
    require_positives(positives, size, draws, make_error, anchors=anchors, is_sampled=True)
    lengths = (positives >= 0).sum(axis=1)
    if len(mismatches := np.flatnonzero((lengths != counts) | ((counts == 0) != isolated))):
        row = mismatches[0]
        raise make_error(
            f"anchor {row} has {lengths[row]} positives, a count of {counts[row]} and isolated = {bool(isolated[row])}"
        )
    return positives


def read_negatives(
    table: pa.Table, generation: Generation, draws: Sampling, epoch: int, make_error: ErrorFactory
) -> NDArray[np.int32]:
    """Return the shared negatives of all batches of an epoch, (batches, count), from a table of `GET negatives`."""
    size = generation.size
    _require_metadata(table, make_error, generation=generation.id, seed=draws.seed, epoch=epoch)
    ids = _lists(table, "ids", pa.int32(), draws.negatives, make_error)
    require_negatives(ids, size, draws.batches(size), draws.negatives, make_error)
    return ids


def read_pairs(table: pa.Table, size: int, lowest: float | None, make_error: ErrorFactory) -> NDArray[np.int32]:
    """Return the columns `source` and `target` of a table of pairs, (P, 2).

    Args:
        table: The table.
        size: Number of items.
        lowest: Lowest valid similarity; None if the table has no similarities.
        make_error: Makes the error for a table with other contents.
    """
    ends = [_column(table, name, pa.int32(), make_error) for name in ("source", "target")]
    pairs: NDArray[np.int32] = np.stack(ends, axis=1)
    require_pairs(pairs, size, make_error)
    if lowest is not None:
        require_similarities(_column(table, "similarity", pa.float32(), make_error), lowest, make_error)
    return pairs


def _require_metadata(table: pa.Table, make_error: ErrorFactory, **expected: str | int) -> None:
    for name, value in expected.items():
        if (actual := _metadata_value(table, name)) != str(value):
            raise make_error(f"it is of {name} {actual}, and {name} {value} was requested")


def _metadata_value(table: pa.Table, name: str) -> str | None:
    """Return a value from the metadata of a table; None if it is missing."""
    value = (table.schema.metadata or {}).get(name.encode())
    return None if value is None else value.decode(errors="replace")


def _policy(table: pa.Table) -> str | None:
    """Return the policy from the metadata of a table, in canonical form; None if there is no valid policy."""
    try:
        return Policy.model_validate(json.loads(_metadata_value(table, "policy") or "")).canonical()
    except ValueError:
        return None


def _column(table: pa.Table, name: str, type: pa.DataType, make_error: ErrorFactory) -> NDArray[Any]:
    """Return a column, (rows,). It must have this type and no nulls."""
    values = _find_column(table, name, make_error)
    if values.type != type:
        raise make_error(f"column {name!r} holds {values.type}, and not {type}")
    if values.null_count:
        raise make_error(f"column {name!r} has {values.null_count} nulls")
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return numbers


def _lists(table: pa.Table, name: str, type: pa.DataType, width: int, make_error: ErrorFactory) -> NDArray[Any]:
    """Return a column of lists, (rows, width). The lists must have this width and type, and no nulls."""
    lists = _find_column(table, name, make_error)
    if not pa.types.is_fixed_size_list(lists.type) or (lists.type.value_type, lists.type.list_size) != (type, width):
        raise make_error(f"column {name!r} holds {lists.type}, and not lists of {width} {type}")
    values = lists.flatten()
    if lists.null_count or values.null_count:
        raise make_error(f"column {name!r} has nulls")
    numbers: NDArray[Any] = values.to_numpy()
    return numbers.reshape(len(lists), width)


def _find_column(table: pa.Table, name: str, make_error: ErrorFactory) -> pa.Array:
    if name not in table.column_names:
        raise make_error(f"it has no column {name!r}; it has {', '.join(table.column_names) or 'none'}")
    return table[name].combine_chunks()
