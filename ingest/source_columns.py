"""Source columns: the key/value pairs of records as columns, in the order of the source."""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

import numpy as np
import pyarrow as pa

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
    pairs = properties.combine_chunks()
    rows = np.repeat(np.arange(len(pairs)), np.diff(np.asarray(pairs.offsets)))
    keys = pairs.keys.dictionary_encode()
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
    code_of = {key: code for code, key in enumerate(names)}
    columns = {}
    for key in sort_topologically(names, before):
        code = code_of[key]
        entries = np.flatnonzero(codes == code)
        positions = np.full(len(pairs), -1, np.int64)
        positions[rows[entries]] = entries
        columns[_column_name(key, computed)] = pairs.items.take(pa.array(positions, mask=positions < 0))
    return columns


def _column_name(name: str, computed: Sequence[str]) -> str:
    bare = name
    while bare.startswith(_SOURCE):
        bare = bare.removeprefix(_SOURCE)
    return f"{_SOURCE}{name}" if bare in computed else name
