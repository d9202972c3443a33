"""Reading of stored columns together with molecular descriptors, which no item table holds."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa

from graphkin.store.base import Generation
from graphkin.store.columns import ID, VisibleColumn
from graphkin.store.records import Float64, Int32

DescriptorValues: TypeAlias = Callable[[str], Float64]
"""Function that returns a descriptor of all items by its name: (N,) float64, NaN where RDKit computes none."""


def read_columns(
    generation: Generation,
    names: Sequence[str],
    columns: Sequence[VisibleColumn],
    descriptor: DescriptorValues | None = None,
    ids: Int32 | None = None,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[tuple[list[pa.Array], list[pa.Array]]]:
    """Iterate over columns of items, in batches.

    Args:
        generation: The generation.
        names: Columns of the item table that every item has, or `id`.
        columns: Further columns: properties, qualifiers, activities and descriptors.
        descriptor: A function that returns the values of a descriptor. It may be None if no column is a descriptor.
        ids: (n,) ids of the items, in the order of the result. By default the range from `start` to `stop` - 1.
        start: The first id, ignored if `ids` is set.
        stop: The id after the last one, ignored if `ids` is set. By default the number of items.

    Yields:
        The columns `names`, and the columns `columns` as the item table stores them. A descriptor is float64, null
        where RDKit computes none.
    """
    names_of_descriptors = {each.stored for each in columns if each.is_descriptor}
    computed = {} if descriptor is None else {name: descriptor(name) for name in names_of_descriptors}
    stored = [*dict.fromkeys([*names, *(each.stored for each in columns if not each.is_descriptor)])] or [ID.name]
    batches = generation.columns(stored, start, stop) if ids is None else generation.scan(ids, stored)
    begin = start if ids is None else 0
    for batch in batches:
        rows = slice(begin, begin + batch.num_rows)
        selection = rows if ids is None else ids[rows]
        yield (
            [batch[name] for name in names],
            [
                pa.array(computed[each.stored][selection], pa.float64(), from_pandas=True)
                if each.is_descriptor
                else batch[each.stored]
                for each in columns
            ],
        )
        begin = rows.stop
