"""Source columns: the key/value pairs of records as columns, in the order of the source."""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

import numpy as np
import pyarrow as pa

from graphkin.store.records import Int64

_SOURCE = "source."


def sort_topologically(names: Sequence[str], before: Iterable[tuple[str, str]]) -> list[str]:
    """Sort names so that the first name of each pair in `before` comes before the second.

    Otherwise the names keep their order. If the pairs contradict each other, all names keep their order.
    """
    rank = {name: index for index, name in enumerate(names)}
    sorter = TopologicalSorter[str](dict.fromkeys(names, ()))
    for first, second in before:
        sorter.add(second, first)
    try:
        sorter.prepare()
    except CycleError:
        return [*names]
    ordered, ready = list[str](), list[tuple[int, str]]()
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, (rank[name], name))
        ordered.append(heappop(ready)[1])
        sorter.done(ordered[-1])
    return ordered


def source_columns(properties: pa.ChunkedArray, computed: Sequence[str]) -> dict[str, pa.Array]:
    """Return the key/value pairs of records as one text column per key, with null for records without the key.

    If a key is also the name of a computed column, its column is named with the prefix "source.".

    Args:
        properties: (N,) the key/value pairs of each record, an Arrow map column.
        computed: Names of the computed columns.
    """
    columns = columns_of(properties, column_order(properties))
    return {column_name(key, computed): column for key, column in columns.items()}


def column_order(properties: pa.ChunkedArray) -> list[str]:
    """Return the distinct keys of the key/value pairs of records, in the order of the source."""
    rows, keys, _ = _pairs(properties)
    codes = np.asarray(keys.indices)
    names = keys.dictionary.to_pylist()
    # Successive keys of a record show the order of the columns in the source.
    follows = rows[:-1] == rows[1:]
    both = pa.array(codes[:-1][follows] * np.int64(len(names)) + codes[1:][follows]).unique().to_pylist()
    before = [
        (names[first], names[second])
        for first, second in (divmod(each, len(names)) for each in both)
        if first != second
    ]
    return sort_topologically(names, before)


def columns_of(properties: pa.ChunkedArray, order: Sequence[str]) -> dict[str, pa.Array]:
    """Return the key/value pairs of records as one text column per key of `order`, with null for records without it."""
    rows, keys, items = _pairs(properties)
    names = keys.dictionary.to_pylist()
    codes = np.asarray(keys.indices).astype(np.min_scalar_type(len(names)))  # sorting small numbers takes linear time
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    entries_of = dict(zip(names, np.split(np.argsort(codes, kind="stable"), ends[:-1]), strict=False))
    columns = {}
    for key in order:
        entries = entries_of.get(key, [])
        positions = np.full(len(properties), -1, np.int64)
        positions[rows[entries]] = entries
        columns[key] = items.take(pa.array(positions, mask=positions < 0))
    return columns


def _pairs(properties: pa.ChunkedArray) -> tuple[Int64, pa.DictionaryArray, pa.Array]:
    """Return the record, the key and the value of each key/value pair."""
    pairs = properties.combine_chunks()
    rows = np.repeat(np.arange(len(pairs)), np.diff(np.asarray(pairs.offsets)))
    return rows, pairs.keys.dictionary_encode(), pairs.items


def column_name(name: str, computed: Sequence[str]) -> str:
    """Return the name of a source column, which has the prefix "source." if it is the name of a computed column."""
    bare = name
    while bare.startswith(_SOURCE):
        bare = bare.removeprefix(_SOURCE)
    return f"{_SOURCE}{name}" if bare in computed else name
