"""Source columns: key/value pairs of records as columns, in the order of the source."""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

import numpy as np
import pyarrow as pa

_SOURCE = "source."


def in_order(names: Sequence[str], before: Iterable[tuple[str, str]]) -> list[str]:
    """Sort names topologically, so that the first of each pair comes before the second.

    Names whose order is open keep their given order, and so do all names if the pairs contradict each other.
    """
    rank = {name: place for place, name in enumerate(names)}
    sorter = TopologicalSorter[str](dict.fromkeys(names, ()))
    for one, other in before:
        sorter.add(other, one)
    try:
        sorter.prepare()
    except CycleError:
        return [*names]
    found, ready = list[str](), list[tuple[int, str]]()
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, (rank[name], name))
        found.append(heappop(ready)[1])
        sorter.done(found[-1])
    return found


def source_columns(properties: pa.ChunkedArray, computed: Sequence[str]) -> dict[str, pa.Array]:
    """Return the key/value pairs of records as one nullable text column per key, in the order of the records.

    A key that is also the name of a computed column gets the prefix "source.".
    """
    pairs = properties.combine_chunks()
    rows = np.repeat(np.arange(len(pairs)), np.diff(np.asarray(pairs.offsets)))
    keys = pairs.keys.dictionary_encode()
    codes = np.asarray(keys.indices)
    found = keys.dictionary.to_pylist()
    follows = rows[:-1] == rows[1:]
    both = pa.array(codes[:-1][follows] * np.int64(len(found)) + codes[1:][follows]).unique().to_pylist()
    before = [(found[one], found[other]) for one, other in (divmod(each, len(found)) for each in both) if one != other]
    code_of = {key: code for code, key in enumerate(found)}
    columns = {}
    for key in in_order(found, before):
        code = code_of[key]
        chosen = np.flatnonzero(codes == code)
        picked = np.full(len(pairs), -1, np.int64)
        picked[rows[chosen]] = chosen
        columns[_called(key, computed)] = pairs.items.take(pa.array(picked, mask=picked < 0))
    return columns


def _called(name: str, computed: Sequence[str]) -> str:
    bare = name
    while bare.startswith(_SOURCE):
        bare = bare.removeprefix(_SOURCE)
    return f"{_SOURCE}{name}" if bare in computed else name
